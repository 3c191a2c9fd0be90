/**
 * All rows, in the order of the report.
 */
import type { Row } from "../row.js"
import { againRow } from "./again.js"
import { cachedRow } from "./cached.js"
import { callRows } from "./calls.js"
import { idleRow } from "./idle.js"
import { idleManagerRow } from "./idleManager.js"
import { importRow } from "./imports.js"
import { manyRow } from "./many.js"
import { recoveryRow } from "./recovery.js"
import { startRows } from "./start.js"
import { toolsetRows } from "./toolset.js"
import { warmRows } from "./warm.js"

export const allRows: ReadonlyArray<Row> = [
  ...callRows,
  ...startRows,
  againRow,
  manyRow,
  idleRow,
  importRow,
  cachedRow,
  ...toolsetRows,
  ...warmRows,
  recoveryRow,
  idleManagerRow
]
