import { displaysPart } from "./displays.js"
import { suite } from "./kit/suite.js"

suite(displaysPart)
