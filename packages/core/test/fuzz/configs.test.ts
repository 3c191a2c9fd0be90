import { configFilesPart, configValuesPart, referencesPart } from "./configs.js"
import { suite } from "./kit/suite.js"

suite(configFilesPart)
suite(configValuesPart)
suite(referencesPart)
