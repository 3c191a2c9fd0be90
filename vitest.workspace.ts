import { defineWorkspace } from "vitest/config"

const project = (name: string, include: ReadonlyArray<string>, globalSetup: ReadonlyArray<string> = []) => ({
  resolve: { conditions: ["@mcp-runtime/source"] },
  ssr: { resolve: { conditions: ["@mcp-runtime/source"] } },
  test: {
    name,
    include: [...include],
    environment: "node" as const,
    pool: "forks" as const,
    globalSetup: [...globalSetup],
    testTimeout: 30_000,
    hookTimeout: 30_000
  }
})

export default defineWorkspace([
  project("core", ["packages/core/test/**/*.test.ts"]),
  project("node", ["packages/node/test/**/*.test.ts"]),
  project("testing", ["packages/testing/test/**/*.test.ts"]),
  project("cli", ["packages/cli/test/**/*.test.ts"], ["packages/cli/test/internal/bundling.ts"]),
  project("conformance", ["packages/conformance/test/**/*.test.ts"]),
  project("benchmark", ["packages/benchmark/test/**/*.test.ts"]),
  project("docs", ["examples/test/**/*.test.ts", "examples/testing/**/*.test.ts"])
])
