/**
 * Loads Node's own `fetch` before anything can load undici from npm: whichever comes first becomes the dispatcher of
 * every `fetch`, and the SDK shall be measured with the one it has when it is alone.
 */
fetch("data:,").catch(() => {})
