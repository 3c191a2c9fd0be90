/**
 * Configurations of servers, and those of which each is of another server than all others. Many differ in nothing but the one field.
 */
import { McpConfig } from "@mcp-runtime/core"
import { Effect } from "effect"

export const config = (input: unknown) => Effect.runSync(McpConfig.decodeUnknown(input))
export const stdio = (rest: object = {}) => config({ name: "files", transport: "stdio", command: "serve", ...rest })
export const http = (rest: object = {}) =>
  config({ name: "docs", transport: "http", url: "https://mcp.test/a", ...rest })

export const otherServers: ReadonlyArray<McpConfig.ServerConfig> = [
  stdio(),
  stdio({ name: "other" }),
  stdio({ command: "other" }),
  stdio({ args: ["a"] }),
  stdio({ args: ["a", "b"] }),
  stdio({ args: ["b", "a"] }),
  stdio({ args: ["a b"] }),
  stdio({ args: ["\ud800"] }),
  stdio({ args: ["\ud801"] }),
  stdio({ args: ["\ufffd"] }),
  stdio({ cwd: "/a" }),
  stdio({ cwd: "/b" }),
  stdio({ inheritEnv: "all" }),
  stdio({ inheritEnv: ["all"] }),
  stdio({ inheritEnv: ["a", "l"] }),
  stdio({ env: { A: "" } }),
  stdio({ env: { a: "" } }),
  stdio({ env: { A: "", B: "" } }),
  http(),
  http({ transport: "sse" }),
  http({ transport: "auto" }),
  http({ url: "http://mcp.test/a" }),
  http({ url: "https://mcp.test:8443/a" }),
  http({ url: "https://mcp.test/b" }),
  http({ url: "https://mcp.test/a?x" }),
  http({ url: "https://mcp.test/a?x&y" }),
  http({ headers: { a: "" } }),
  http({ headers: { x: "" } }),
  http({ tls: { verify: false } }),
  http({ tls: { ca: "A" } }),
  http({ tls: { ca: "B" } }),
  http({ tls: { ca: ["A", "B"] } }),
  http({ tls: { ca: { env: "A" } } }),
  http({ tls: { ca: { command: "A" } } }),
  http({ proxy: "http://proxy.test" }),
  http({ proxy: "https://proxy.test" }),
  http({ proxy: "http://proxy.test:8080" }),
  http({ proxy: { env: "PROXY" } }),
  http({ proxy: "http://${PROXY}", expand: true }),
  http({ proxy: "http://${PROXY:-other.test}", expand: true }),
  http({ url: "https://${HOST}/a", expand: true }),
  http({ url: "https://${HOST:-mcp.test}/a", expand: true }),
  http({ url: "https://${HOST:-other.test}/a", expand: true }),
  http({ url: "https://${HOST:-${OTHER}}/a", expand: true }),
  http({ url: "https://${workspaceFolderBasename}/a", expand: { workspaceFolder: "/a" } }),
  http({ url: "https://${workspaceFolderBasename}/a", expand: { workspaceFolder: "/b" } }),
  stdio({ args: ["${workspaceFolder}"], expand: { workspaceFolder: "/a" } }),
  stdio({ args: ["${workspaceFolder}"], expand: { workspaceFolder: "/b" } })
]
