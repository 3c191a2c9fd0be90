import { FetchHttpClient } from "@effect/platform"
import { HttpExchange } from "@mcp-runtime/core"
import { Layer } from "effect"
import { exchangeContract } from "./exchangeContract.js"

exchangeContract("fetch", HttpExchange.layerFetch)

exchangeContract("HttpClient", Layer.provide(HttpExchange.layerHttpClient, FetchHttpClient.layer))
