import { assert, describe, it } from "@effect/vitest"
import { JsonSchema, McpConfig } from "@mcp-runtime/core"
import * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import { Effect } from "effect"

/** Files as the documentation of these clients has them. */
const files: ReadonlyArray<{
  readonly client: string
  readonly text: string
  readonly servers: Readonly<Record<string, object>>
  readonly inputs?: ReadonlyArray<string>
  readonly warnings?: ReadonlyArray<string>
}> = [
  {
    client: "Claude Desktop",
    text: `{
      "globalShortcut": "",
      "mcpServers": {
        "filesystem": {
          "command": "npx",
          "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/username/Desktop"]
        },
        "weather": {
          "command": "C:\\\\Program Files\\\\uv\\\\uv.exe",
          "args": ["--directory", "C:\\\\ABSOLUTE\\\\PATH", "run", "weather.py"],
          "env": { "APPDATA": "C:\\\\Users\\\\user\\\\AppData\\\\Roaming\\\\", "PORT": 3000, "DEBUG": false, "CHAT": -10012345678901234567890 }
        }
      }
    }`,
    servers: {
      filesystem: {
        transport: "stdio",
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-filesystem", "/Users/username/Desktop"]
      },
      weather: {
        transport: "stdio",
        command: "C:\\Program Files\\uv\\uv.exe",
        args: ["--directory", "C:\\ABSOLUTE\\PATH", "run", "weather.py"],
        env: {
          APPDATA: "C:\\Users\\user\\AppData\\Roaming\\",
          PORT: "3000",
          DEBUG: "false",
          CHAT: "-10012345678901234567890"
        }
      }
    }
  },
  {
    client: "Claude Code",
    text: `{
      "mcpServers": {
        "api-server": {
          "type": "http",
          "url": "\${API_BASE_URL:-https://api.example.com}/mcp",
          "headers": { "Authorization": "Bearer \${API_KEY}" }
        },
        "events": { "type": "sse", "url": "https://example.com/sse" },
        "local": { "type": "stdio", "command": "/path/to/server", "args": [], "env": { "CACHE_DIR": "/tmp" } }
      }
    }`,
    servers: {
      "api-server": {
        transport: "http",
        url: "${API_BASE_URL:-https://api.example.com}/mcp",
        headers: { Authorization: "Bearer ${API_KEY}" }
      },
      events: { transport: "sse", url: "https://example.com/sse" },
      local: { transport: "stdio", command: "/path/to/server", args: [], env: { CACHE_DIR: "/tmp" } }
    }
  },
  {
    client: "Cursor",
    text: `{
      "mcpServers": {
        "server-name": {
          "url": "http://localhost:3000/mcp",
          "headers": { "API_KEY": "\${env:MY_TOKEN}" }
        },
        "oauth-server": {
          "url": "https://api.example.com/mcp",
          "auth": {
            "CLIENT_ID": "\${env:MCP_CLIENT_ID}",
            "CLIENT_SECRET": "\${env:MCP_CLIENT_SECRET}",
            "scopes": ["read", "write"]
          }
        },
        "local-server": {
          "command": "python",
          "args": ["\${workspaceFolder}/tools/mcp_server.py"],
          "env": { "API_KEY": "\${env:API_KEY}" },
          "envFile": ".env"
        }
      }
    }`,
    servers: {
      "server-name": {
        transport: "auto",
        url: "http://localhost:3000/mcp",
        headers: { API_KEY: "${env:MY_TOKEN}" }
      },
      "oauth-server": {
        transport: "auto",
        url: "https://api.example.com/mcp",
        auth: {
          type: "oauth",
          clientId: "${env:MCP_CLIENT_ID}",
          clientSecret: "${env:MCP_CLIENT_SECRET}",
          scopes: ["read", "write"]
        }
      },
      "local-server": {
        transport: "stdio",
        command: "python",
        args: ["${workspaceFolder}/tools/mcp_server.py"],
        env: { API_KEY: "${env:API_KEY}" },
        expand: { workspaceFolder: "/project" }
      }
    },
    warnings: ["envFile"]
  },
  {
    client: "VS Code",
    text: `{
      // what the user is asked for
      "inputs": [
        { "type": "promptString", "id": "perplexity-key", "description": "Perplexity API Key", "password": true },
        { "type": "pickString", "id": "region", "options": ["eu", { "label": "US", "value": "us" }], "default": "eu" },
      ],
      "servers": {
        "perplexity": {
          "type": "stdio",
          "command": "npx",
          "args": ["-y", "server-perplexity-ask"],
          "env": { "PERPLEXITY_API_KEY": "\${input:perplexity-key}", "UNSET": null },
          "dev": { "watch": "build/**/*.js" },
        },
        "github": { "type": "http", "url": "https://api.githubcopilot.com/mcp/", "gallery": true, "version": "1.0" },
      },
    }`,
    servers: {
      perplexity: {
        transport: "stdio",
        command: "npx",
        args: ["-y", "server-perplexity-ask"],
        env: { PERPLEXITY_API_KEY: "${input:perplexity-key}" }
      },
      github: { transport: "http", url: "https://api.githubcopilot.com/mcp/" }
    },
    inputs: ["perplexity-key", "region"]
  },
  {
    client: "settings of VS Code",
    text: `{
      "editor.fontSize": 12,
      "window": { "zoomLevel": 1 },
      "mcp": {
        "inputs": [{ "id": "token", "type": "promptString" }],
        "servers": { "docs": { "url": "https://docs.example.com/sse", "type": "sse" } }
      }
    }`,
    servers: { docs: { transport: "sse", url: "https://docs.example.com/sse" } },
    inputs: ["token"]
  },
  {
    client: "oh-my-pi",
    text: `{
      "$schema": "https://example.com/schema.json",
      "mcpServers": {
        "docs": {
          "enabled": true, "timeout": 30000, "transport": "http", "url": "https://docs.example.com/mcp",
          "enabledTools": ["read_*"], "disabledTools": ["read_secret"]
        }
      },
      "disabledServers": []
    }`,
    servers: {
      docs: {
        transport: "http",
        url: "https://docs.example.com/mcp",
        timeouts: { handshake: 30_000, request: 30_000 }
      }
    }
  },
  {
    client: "ours",
    text: `{
      "mcpServers": {
        "docs": {
          "type": "streamableHttp", "url": "https://docs.example.com/mcp",
          "headers": { "Authorization": { "command": "print-token", "timeout": "5 seconds" }, "X-Count": 1 },
          "timeout": "10 seconds", "timeouts": { "total": "1 minute", "request": null },
          "concurrency": "serial", "lifetime": { "idle": "5 minutes" }, "trusted": true, "logLevel": "warning",
          "subscriptions": ["docs://index"], "keepAlive": { "every": "30 seconds" }, "limits": { "pages": 10 },
          "auth": "none", "proxy": "http://localhost:8080", "maxConnections": 4, "recovery": "isolated",
          "tls": { "verify": true }, "tools": { "allow": ["a*"], "block": ["ab"] },
          "approval": { "delete": "always" }, "_comment": "ours", "description": "all of it"
        },
        "files": {
          "command": "files", "inheritEnv": ["LANG"], "cwd": "\${userHome}/files", "shutdown": { "afterEof": "1 second" },
          "env": { "A": { "env": "B" }, "C": { "store": "c" }, "D": { "input": "d" } }, "timeout": 0
        }
      }
    }`,
    servers: {
      docs: {
        transport: "http",
        url: "https://docs.example.com/mcp",
        headers: { Authorization: { command: "print-token", timeout: "5 seconds" }, "X-Count": "1" },
        timeouts: { handshake: "10 seconds", request: null, total: "1 minute" },
        concurrency: "serial",
        lifetime: { idle: "5 minutes" },
        trusted: true,
        logLevel: "warning",
        subscriptions: ["docs://index"],
        keepAlive: { every: "30 seconds" },
        limits: { pages: 10 },
        auth: "none",
        proxy: "http://localhost:8080",
        maxConnections: 4,
        recovery: "isolated",
        tls: { verify: true }
      },
      files: {
        transport: "stdio",
        command: "files",
        inheritEnv: ["LANG"],
        cwd: "${userHome}/files",
        shutdown: { afterEof: "1 second" },
        env: { A: { env: "B" }, C: { store: "c" }, D: { input: "d" } },
        timeouts: { handshake: null, request: null }
      }
    }
  }
]

const validator = JsonSchema.compile(ConfigFile.jsonSchema)

describe("files of clients", () => {
  for (const { client, inputs = [], servers, text, warnings = [] } of files) {
    it.effect(`those of ${client} are read, and what is read can be decoded`, () =>
      Effect.gen(function*() {
        const loaded = ConfigFile.load([{ level: "user", path: "mcp.json", text }], { workspaceFolder: "/project" })
        assert.deepStrictEqual(
          ConfigFile.serversOf(loaded),
          Object.entries(servers).map(([name, server]) => ({ name, expand: true, ...server })) as never
        )
        assert.deepStrictEqual(
          loaded.problems.map((_) => `${_.severity}: ${_.field}`),
          warnings.map((_) => `warning: ${_}`)
        )
        assert.deepStrictEqual([...loaded.inputs.keys()], inputs)
        for (const config of ConfigFile.serversOf(loaded)) yield* McpConfig.decode(config)
      }))
    it(`the schema for editors accepts those of ${client}`, () => {
      const value = ConfigFile.load([{ level: "user", path: "mcp.json", text }])
      assert.isAbove(value.entries.length, 0)
      const json: unknown = JSON.parse(text.replace(/\/\/ what.*\n/, "").replace(/,(\s*[}\]])/g, "$1"))
      const validation = validator.validate(json)
      if (warnings.length === 0) assert.deepStrictEqual(validation, { _tag: "Valid" })
      else assert.strictEqual(validation._tag, "Invalid")
    })
  }

  it("inputs are what VS Code says of them", () => {
    const { inputs } = ConfigFile.load([{ level: "project", path: ".vscode/mcp.json", text: files[3]!.text }])
    const origin = { level: "project", path: ".vscode/mcp.json" } as const
    assert.deepStrictEqual([...inputs.values()], [
      { id: "perplexity-key", origin, type: "promptString", description: "Perplexity API Key", password: true },
      { id: "region", origin, type: "pickString", password: false, default: "eu", options: ["eu", "us"] }
    ])
  })
})
