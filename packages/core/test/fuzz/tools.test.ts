import { suite } from "./kit/suite.js"
import { toolsPart } from "./tools.js"

suite(toolsPart)
