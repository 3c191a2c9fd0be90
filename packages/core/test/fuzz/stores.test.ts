import { suite } from "./kit/suite.js"
import { recordPart, storedPart } from "./stores.js"

suite(storedPart)
suite(recordPart)
