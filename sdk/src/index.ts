/** The client of the platform: every operation of the API reference is a function, such as `client.endpoints.list()`. */
import { type Client, type ClientOptions, createClientOf } from './core.ts'
import { table } from './table.ts'

export type { Auth, ClientOptions, Session } from './core.ts'
export { type Client, createClientOf, WaypostError } from './core.ts'
export type { LiveEvent, Topic } from './live.ts'
export type * from './operations.ts'
export type { LiveStream, LiveSubscription, StreamEvent } from './stream.ts'
export type * from './types.ts'

export const createClient = (options: ClientOptions): Client => createClientOf(table, options)
