/**
 * @since 0.1.0
 */
export * as AuthFixture from "./AuthFixture.js"
/**
 * @since 0.1.0
 */
export * as HttpFixture from "./HttpFixture.js"
/**
 * @since 0.1.0
 */
export * as LeakCheck from "./LeakCheck.js"
/**
 * @since 0.1.0
 */
export * as ScriptedServer from "./ScriptedServer.js"
/**
 * @since 0.1.0
 */
export * as StdioFixture from "./StdioFixture.js"
