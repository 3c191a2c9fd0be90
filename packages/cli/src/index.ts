/**
 * The command line of mcp-runtime as values: the program, and what it explains.
 *
 * @since 0.1.0
 */
export {}
