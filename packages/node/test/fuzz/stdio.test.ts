import { suite } from "../../../core/test/fuzz/kit/suite.js"
import { longJsonPart, stdioPart } from "./stdio.js"

suite(stdioPart)
suite(longJsonPart)
