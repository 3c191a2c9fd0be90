/**
 * The end of everything that a soak has started, also when it is killed itself, or its processes are stopped.
 *
 * Owns: a process that waits for the end of its input, which is the end of the soak, and then kills whatever has the
 * directory of the soak in its environment, and removes the directory. When a soak ends in order, it is told so, and only
 * looks whether anything is left.
 * May not touch: anything while the soak lives.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"

const script = `
trap '' INT TERM HUP
read -r farewell
kill_all() {
  pids=
  for environ in /proc/[0-9]*/environ; do
    pid=\${environ#/proc/}
    pid=\${pid%/environ}
    grep -qsF "$0" "$environ" && pids="$pids $pid"
  done
  [ -n "$pids" ] && kill -KILL $pids
}
for round in 1 2 3 4 5; do
  kill_all || { [ -n "$farewell" ] && break; }
  sleep 1
done
[ -n "$farewell" ] || rm -rf "$0"
`

/** Guards a directory until the scope closes, which must be after the directory has been left in order. */
export const guard = (directory: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn("/bin/sh", ["-c", script, directory], {
        stdio: ["pipe", "ignore", "ignore"],
        detached: true,
        env: { PATH: process.env.PATH }
      })
      child.stdin.on("error", () => {})
      return child
    }),
    (child) =>
      Effect.promise(async () => {
        const exit = once(child, "exit")
        child.stdin.end("bye\n")
        await exit
      })
  ))
