/**
 * @since 0.1.0
 */
export * as McpConfig from "./McpConfig.js"
/**
 * @since 0.1.0
 */
export * as SecretResolver from "./SecretResolver.js"
/**
 * @since 0.1.0
 */
export * as McpError from "./McpError.js"
/**
 * @since 0.1.0
 */
export * as McpProtocol from "./McpProtocol.js"
/**
 * @since 0.1.0
 */
export * as McpTransport from "./McpTransport.js"
/**
 * @since 0.1.0
 */
export * as ClientHandlers from "./ClientHandlers.js"
/**
 * @since 0.1.0
 */
export * as HttpExchange from "./HttpExchange.js"
/**
 * @since 0.1.0
 */
export * as McpAuth from "./McpAuth.js"
/**
 * @since 0.1.0
 */
export * as RequestLimit from "./RequestLimit.js"
/**
 * @since 0.1.0
 */
export * as McpSession from "./McpSession.js"
/**
 * @since 0.1.0
 */
export * as RetryPolicy from "./RetryPolicy.js"
/**
 * @since 0.1.0
 */
export * as Catalog from "./Catalog.js"
/**
 * @since 0.1.0
 */
export * as CatalogStore from "./CatalogStore.js"
/**
 * @since 0.1.0
 */
export * as McpMetrics from "./McpMetrics.js"
/**
 * @since 0.1.0
 */
export * as WireTap from "./WireTap.js"
/**
 * @since 0.1.0
 */
export * as McpConnection from "./McpConnection.js"
/**
 * @since 0.1.0
 */
export * as McpSkills from "./McpSkills.js"
/**
 * @since 0.1.0
 */
export * as McpManager from "./McpManager.js"
/**
 * @since 0.1.0
 */
export * as McpCatalog from "./McpCatalog.js"
/**
 * @since 0.1.0
 */
export * as McpRuntime from "./McpRuntime.js"
/**
 * @since 0.1.0
 */
export * as JsonSchema from "./JsonSchema.js"
/**
 * @since 0.1.0
 */
export * as ToolRequest from "./ToolRequest.js"
/**
 * @since 0.1.0
 */
export * as ToolFilter from "./ToolFilter.js"
/**
 * @since 0.1.0
 */
export * as ToolNaming from "./ToolNaming.js"
/**
 * @since 0.1.0
 */
export * as ToolApproval from "./ToolApproval.js"
/**
 * @since 0.1.0
 */
export * as ToolSchema from "./ToolSchema.js"
/**
 * @since 0.1.0
 */
export * as ToolOutput from "./ToolOutput.js"
/**
 * @since 0.1.0
 */
export * as ToolFailure from "./ToolFailure.js"
/**
 * @since 0.1.0
 */
export * as Toolset from "./Toolset.js"
/**
 * @since 0.1.0
 */
export * as ConfigFile from "./ConfigFile.js"
/**
 * @since 0.1.0
 */
export * as ToolAdapters from "./ToolAdapters.js"
