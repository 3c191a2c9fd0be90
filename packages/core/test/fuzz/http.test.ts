import { httpPart } from "./http.js"
import { suite } from "./kit/suite.js"

suite(httpPart)
