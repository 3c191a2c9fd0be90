import { suite } from "./kit/suite.js"
import { ssePart } from "./sse.js"

suite(ssePart)
