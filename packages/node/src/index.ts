/**
 * @since 0.1.0
 */
export * as NodeMcp from "./NodeMcp.js"
/**
 * @since 0.1.0
 */
export * as ConfigFiles from "./ConfigFiles.js"
/**
 * @since 0.1.0
 */
export * as StdioTransport from "./StdioTransport.js"
/**
 * @since 0.1.0
 */
export * as NodeSecrets from "./NodeSecrets.js"
/**
 * @since 0.1.0
 */
export * as UndiciExchange from "./UndiciExchange.js"
/**
 * @since 0.1.0
 */
export * as FileStore from "./FileStore.js"
/**
 * @since 0.1.0
 */
export * as FileTokens from "./FileTokens.js"
/**
 * @since 0.1.0
 */
export * as LoopbackAuthorizer from "./LoopbackAuthorizer.js"
