import { suite } from "./kit/suite.js"
import { filtersPart, namesPart } from "./names.js"

suite(namesPart)
suite(filtersPart)
