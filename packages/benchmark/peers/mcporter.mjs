/**
 * `mcporter`: its pooled runtime. It connects as it lists; schemas are asked for, as an agent needs them.
 */
import { createRuntime } from "mcporter"

const commandOf = (wire) =>
  wire.type === "stdio"
    ? { kind: "stdio", command: process.execPath, args: [wire.script, ...wire.args], cwd: process.cwd() }
    : { kind: "http", url: new URL(wire.url) }

const runtimeOf = (wires) =>
  createRuntime({ servers: wires.map((wire, i) => ({ name: `server-${i}`, command: commandOf(wire) })) })

const sizeOf = async (runtime, server) => (await runtime.listTools(server, { includeSchema: true })).length

export const open = async (wire) => {
  const runtime = await runtimeOf([wire])
  await runtime.connect("server-0")
  const list = () => sizeOf(runtime, "server-0")
  return {
    call: async (name, args) => (await runtime.callTool("server-0", name, { args })).content[0].text,
    list,
    again: list,
    close: () => runtime.close()
  }
}

export const openMany = async (wires) => {
  const runtime = await runtimeOf(wires)
  return {
    counts: await Promise.all(runtime.listServers().map((_) => sizeOf(runtime, _))),
    close: () => runtime.close()
  }
}
