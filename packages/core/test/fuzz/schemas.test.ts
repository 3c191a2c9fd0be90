import { suite } from "./kit/suite.js"
import { schemasPart, validationPart } from "./schemas.js"

suite(validationPart)
suite(schemasPart)
