/**
 * What the command line knows of errors, for applications of one's own.
 *
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 */
export * as Doctor from "./Doctor.js"
