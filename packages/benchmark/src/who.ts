/**
 * Who is measured.
 *
 * Owns: names, and what they are called in what is shown. May not touch: any one client.
 */

/** Our own floors: a bare session; a connection; a toolset over a manager; a connection while a tracer listens. */
export const ways = ["connection", "toolset", "session", "traced"] as const

export type Way = (typeof ways)[number]

/** Other clients. Each has an adapter of its name in `peers`. */
export const peers = ["clientV2", "openai", "aiSdk", "langchain", "mastra", "mcporter"] as const

export type Peer = (typeof peers)[number]

/** The raw SDK is what the others are compared with; the limit is code written by hand for nothing but this. */
export type Who = Way | "sdk" | Peer | "limit"

/** In the order in which they are shown. */
export const everyone: ReadonlyArray<Who> = [...ways, "sdk", ...peers, "limit"]

export const labels: { readonly [W in Who]: string } = {
  connection: "ours: connection",
  toolset: "ours: toolset",
  session: "ours: bare session",
  traced: "ours: connection, traced",
  sdk: "SDK v1",
  clientV2: "SDK v2",
  openai: "OpenAI Agents",
  aiSdk: "AI SDK",
  langchain: "LangChain",
  mastra: "Mastra",
  mcporter: "mcporter",
  limit: "by hand"
}

/** The package of each peer, in `peers/package.json`. */
export const packages: { readonly [P in Peer]: string } = {
  clientV2: "@modelcontextprotocol/client",
  openai: "@openai/agents-core",
  aiSdk: "@ai-sdk/mcp",
  langchain: "@langchain/mcp-adapters",
  mastra: "@mastra/mcp",
  mcporter: "mcporter"
}

export const isPeer = (who: string): who is Peer => (peers as ReadonlyArray<string>).includes(who)
