export interface Port {
  readonly send: (message: unknown) => void
}

/** A message and what can be done about it. */
export interface Treated extends Port {
  readonly execute: () => void
  readonly answer: () => void
}

export declare const makePeer: (options: {
  readonly flaws?: { readonly [name: string]: (to: Treated) => void }
  readonly journal: string
}) => {
  readonly receive: (message: unknown, port: Port) => void
  readonly note: (what: string) => void
}
