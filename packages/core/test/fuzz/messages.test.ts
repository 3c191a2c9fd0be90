import { suite } from "./kit/suite.js"
import { messagesPart } from "./messages.js"

suite(messagesPart)
