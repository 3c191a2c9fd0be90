/**
 * All parts of the fuzz, in the order of a run.
 */
import { authPart, challengesPart } from "../../../core/test/fuzz/auth.js"
import { configFilesPart, configValuesPart, referencesPart } from "../../../core/test/fuzz/configs.js"
import { displaysPart } from "../../../core/test/fuzz/displays.js"
import { httpPart } from "../../../core/test/fuzz/http.js"
import type { Part } from "../../../core/test/fuzz/kit/part.js"
import { messagesPart } from "../../../core/test/fuzz/messages.js"
import { filtersPart, namesPart } from "../../../core/test/fuzz/names.js"
import { schemasPart, validationPart } from "../../../core/test/fuzz/schemas.js"
import { ssePart } from "../../../core/test/fuzz/sse.js"
import { recordPart, storedPart } from "../../../core/test/fuzz/stores.js"
import { toolsPart } from "../../../core/test/fuzz/tools.js"
import { longJsonPart, stdioPart } from "./stdio.js"

export const parts: ReadonlyArray<Part> = [
  messagesPart,
  httpPart,
  ssePart,
  stdioPart,
  longJsonPart,
  toolsPart,
  schemasPart,
  validationPart,
  namesPart,
  filtersPart,
  configFilesPart,
  configValuesPart,
  referencesPart,
  displaysPart,
  storedPart,
  recordPart,
  challengesPart,
  authPart
]
