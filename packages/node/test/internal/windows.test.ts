import { assert, describe, it } from "@effect/vitest"
import { commandOf } from "../../src/internal/auth/browser.js"
import { endCommand, shellCommand, systemProgram } from "../../src/internal/windows.js"

describe("programs of Windows", () => {
  it("are started by their whole path, so that none of the current directory takes their place", () => {
    const environment = { SystemRoot: "D:\\WINNT" }
    assert.strictEqual(systemProgram("cmd.exe", environment), "D:\\WINNT\\System32\\cmd.exe")
    assert.deepStrictEqual(shellCommand("pass show \"a\"", environment), [
      "D:\\WINNT\\System32\\cmd.exe",
      "/d",
      "/s",
      "/c",
      "\"pass show \"a\"\""
    ])
    assert.deepStrictEqual(endCommand(12, environment), ["D:\\WINNT\\System32\\taskkill.exe", "/pid", "12", "/T", "/F"])
    assert.deepStrictEqual(commandOf("win32", "https://a.example/?b&c", environment), [
      "D:\\WINNT\\System32\\rundll32.exe",
      "url.dll,FileProtocolHandler",
      "https://a.example/?b&c"
    ])
  })

  it("a directory of the system that is not a whole path is not believed", () => {
    for (const SystemRoot of [undefined, "", ".", "Windows", "\\Windows", "C:Windows", "\\\\share\\x"]) {
      assert.strictEqual(systemProgram("cmd.exe", { SystemRoot }), "C:\\Windows\\System32\\cmd.exe", SystemRoot)
    }
  })
})
