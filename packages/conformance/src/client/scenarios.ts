/**
 * What is done in each scenario.
 *
 * Owns: the table, and its few shapes.
 * May not touch: the process, the configuration but its `auth`.
 */
import { type ClientHandlers, McpConnection, type McpError, type McpProtocol, McpSkills } from "@mcp-runtime/core"
import * as Effect from "effect/Effect"
import * as Auth from "./auth.js"
import type { Patience } from "./person.js"
import { Problem } from "./problem.js"

type Use = (
  connection: McpConnection.McpConnection,
  patiently: Patience
) => Effect.Effect<void, McpError.McpError | Problem>

export interface Scenario {
  readonly auth: Auth.Auth
  readonly use: Use
  readonly handlers?: ClientHandlers.Handlers
  readonly capabilities?: McpProtocol.ClientCapabilities
  /** The error that it must end with. */
  readonly refused?: McpError.McpError["_tag"]
}

// -------------------------------------------------------------------------------------------------
// Shapes
// -------------------------------------------------------------------------------------------------

const connects: Use = (connection, patiently) => Effect.asVoid(patiently(connection.awaitReady))

/** Connects, and reads what there is. */
const lists: Use = (connection, patiently) => Effect.asVoid(patiently(McpConnection.listTools(connection)))

/** The same, and one call. */
const calls = (name: string, args: McpProtocol.JsonObject = {}): Use => (connection, patiently) =>
  Effect.zipRight(lists(connection, patiently), called(connection, patiently, name, args))

/** The same, whatever the first tool is called. */
const callsFirst: Use = (connection, patiently) =>
  Effect.gen(function*() {
    const { items: [first] } = yield* patiently(McpConnection.listTools(connection))
    if (first === undefined) return yield* new Problem({ message: "the server has no tools" })
    yield* called(connection, patiently, first.name, {})
  })

const called = (
  connection: McpConnection.McpConnection,
  patiently: Patience,
  name: string,
  args: McpProtocol.JsonObject
) =>
  patiently(McpConnection.callTool(connection, { name, arguments: args })).pipe(
    Effect.filterOrFail(
      ({ isError }) => isError !== true,
      () => new Problem({ message: `the tool ${name} has answered with an error` })
    ),
    Effect.asVoid
  )

/** Gives back the schema of a tool as it came. */
const echoesSchema: Use = (connection, patiently) =>
  Effect.gen(function*() {
    const { items } = yield* patiently(McpConnection.listTools(connection))
    const tool = items.find(({ name }) => name === "json_schema_2020_12_tool")
    if (tool === undefined) return yield* new Problem({ message: "the tool with the schema is not listed" })
    yield* called(connection, patiently, "json_schema_echo", { schema: tool.inputSchema })
  })

/** Knows of the skills, and loads none. */
const listsSkills: Use = (connection) => Effect.asVoid(skills(connection))

/** Loads each skill, and then reads all that belongs to it. */
const readsSkills: Use = (connection) =>
  Effect.flatMap(
    skills(connection),
    Effect.forEach((entry) =>
      Effect.flatMap(
        McpSkills.load(connection, entry),
        (skill) => Effect.forEach(entry.files === "dynamic" ? [] : entry.files, ({ path }) => skill.read(path))
      ), { discard: true })
  )

const skills = (connection: McpConnection.McpConnection) =>
  Effect.flatMap(McpSkills.list(connection), ({ dropped, items }) =>
    items.length > 0
      ? Effect.succeed(items)
      : Effect.fail(new Problem({ message: `the server lists no skill that can be used (${dropped.length} can't)` })))

// -------------------------------------------------------------------------------------------------
// The table
// -------------------------------------------------------------------------------------------------

const plain = (use: Use, more: Partial<Scenario> = {}): Scenario => ({ auth: Auth.none, use, ...more })

const authorized = (auth: Auth.Auth = Auth.anybody): Scenario => ({ auth, use: callsFirst })

const refused = (tag: McpError.McpError["_tag"] = "Unauthorized"): Scenario => ({ ...authorized(), refused: tag })

const withSkills = { capabilities: { extensions: { [McpSkills.extension]: {} } } }

/** Leaves all fields of a form to their defaults. */
const acceptsDefaults: ClientHandlers.Handlers = {
  elicitation: { form: () => Effect.succeed({ action: "accept", content: {} }), applyDefaults: true }
}

const scenarios: ReadonlyMap<string, Scenario> = new Map(Object.entries<Scenario>({
  "initialize": plain(connects),
  "tools_call": plain(calls("add_numbers", { a: 5, b: 3 })),
  "elicitation-sep1034-client-defaults": plain(calls("test_client_elicitation_defaults"), {
    handlers: acceptsDefaults
  }),
  "sse-retry": plain(calls("test_reconnection")),
  "json-schema-2020-12-preservation": plain(echoesSchema),
  "json-schema-ref-no-deref": plain(lists),

  "auth/metadata-default": authorized(),
  "auth/metadata-var1": authorized(),
  "auth/metadata-var2": authorized(),
  "auth/metadata-var3": authorized(),
  "auth/basic-cimd": authorized(),
  "auth/scope-from-www-authenticate": authorized(),
  "auth/scope-from-scopes-supported": authorized(),
  "auth/scope-omitted-when-undefined": authorized(),
  "auth/scope-step-up": authorized(),
  "auth/scope-retry-limit": refused("Forbidden"),
  "auth/token-endpoint-auth-basic": authorized(),
  "auth/token-endpoint-auth-post": authorized(),
  "auth/token-endpoint-auth-none": authorized(),
  "auth/pre-registration": authorized(Auth.preRegistered),
  "auth/2025-03-26-oauth-metadata-backcompat": authorized(),
  "auth/2025-03-26-oauth-endpoint-fallback": authorized(),

  "auth/client-credentials-basic": authorized(Auth.secret),
  "auth/client-credentials-jwt": authorized(Auth.key),
  "auth/enterprise-managed-authorization": authorized(Auth.enterprise),
  "auth/wif-jwt-bearer": authorized(Auth.workload),
  "auth/dpop": authorized(),
  "auth/dpop-nonce": authorized(),
  "sep-2640-client-no-prefetch": plain(listsSkills, withSkills),
  "sep-2640-client-verify-digest": plain(readsSkills, { ...withSkills, refused: "InvalidResult" }),
  "sep-2640-client-verify-size": plain(readsSkills, { ...withSkills, refused: "InvalidResult" }),
  "sep-2640-client-verify-frontmatter": plain(readsSkills, { ...withSkills, refused: "InvalidResult" }),

  "auth/resource-mismatch": refused(),
  "auth/offline-access-scope": authorized(),
  "auth/offline-access-not-supported": authorized(),
  "auth/authorization-server-migration": authorized(),
  "auth/iss-supported": authorized(),
  "auth/iss-not-advertised": authorized(),
  "auth/iss-supported-missing": refused(),
  "auth/iss-wrong-issuer": refused(),
  "auth/iss-unexpected": refused(),
  "auth/iss-normalized": refused(),
  "auth/metadata-issuer-mismatch": refused()
}))

export const scenarioOf = (name: string): Effect.Effect<Scenario, Problem> => {
  const scenario = scenarios.get(name)
  return scenario === undefined
    ? Effect.fail(new Problem({ message: `there is nothing to do for the scenario "${name}"` }))
    : Effect.succeed(scenario)
}
