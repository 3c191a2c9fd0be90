/**
 * @since 0.1.0
 */
export * as McpConfig from "./McpConfig.js"
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
export * as McpConnection from "./McpConnection.js"
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
