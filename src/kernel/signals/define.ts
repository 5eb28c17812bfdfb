/** A type of message between nodes. */
export interface Signal<P> {
  name: string
  /** Ties the type of the payload to the signal at compile time. It is never set. */
  payload?: P
}

/** A signal that the receiving node answers. */
export interface Request<P, R> extends Signal<P> {
  /** Ties the type of the reply to the request at compile time. It is never set. */
  reply?: R
}

export type Handler<P> = (payload: P, from: string) => void | Promise<void>

const names = new Set<string>()

/** Defines a signal. Names have the form `service.event`; payloads are JSON of any size. */
export function defineSignal<P>(name: string): Signal<P> {
  if (names.has(name)) throw new Error(`signal ${name} is defined twice`)
  names.add(name)
  return { name }
}

export const defineRequest = <P, R>(name: string): Request<P, R> => defineSignal<P>(name)
