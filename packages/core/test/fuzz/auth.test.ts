import { authPart, challengesPart } from "./auth.js"
import { suite } from "./kit/suite.js"

suite(challengesPart)
suite(authPart)
