/** A secret, and how other programs write it: PHP and Python in JSON, forms and paths in URLs. */
export const secret = "ab/c+d é\"f"

export const written: ReadonlyArray<string> = [
  `ab\\/c+d é\\"f`,
  `ab\\/c+d \\u00e9\\"f`,
  `ab/c+d \\u00e9\\"f`,
  "ab%2Fc%2Bd+%C3%A9%22f",
  "ab/c+d%20%C3%A9%22f"
]
