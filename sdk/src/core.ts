/** Creates a client with only some nouns (groups of operations such as `endpoints`), to keep bundles small. `index.ts` has all nouns. */
import { WaypostError } from './errors.ts'
import { createList } from './lists.ts'
import { createLive, type Live } from './live.ts'
import { operationOf, readOperation } from './operation.ts'
import type { Nouns } from './operations.ts'
import { send } from './request.ts'
import { type ClientOptions, transportOf } from './transport.ts'
import type { Answer, Arguments, List, ListOptions, Operation, Options } from './types.ts'

export type { Auth, Session } from './auth.ts'
export { WaypostError } from './errors.ts'
export type { LiveEvent, Topic } from './live.ts'
export type { LiveStream, LiveSubscription, StreamEvent } from './stream.ts'
export type { ClientOptions } from './transport.ts'
export type * from './types.ts'

/** Calls operations by name, for programs in which the name is known only at run time. */
export interface Generic {
  /** Calls an operation. If the operation returns a list, the body of the answer is one page of the list. */
  call(name: string, args?: Arguments, options?: Options): Promise<Answer>
  /** Lists the items of an operation that is paged. */
  list<T = unknown>(name: string, args?: Arguments, options?: ListOptions): List<T>
  /** Watches points of time series and other live data. Reconnects, resumes, and reports gaps. */
  live: Live
}

export type Client<K extends keyof Nouns = keyof Nouns> = Pick<Nouns, K> & Generic

type Branch = { [word: string]: Branch | ((args?: Arguments, options?: Options) => unknown) }

/** Creates a client that has only the operations of the given nouns: `createClientOf({ endpoints }, { url, auth })`. */
export function createClientOf<K extends keyof Nouns>(table: Record<K, string>, options: ClientOptions): Client<K> {
  const transport = transportOf(options)
  /** Cache of operations that were called by name. */
  const operations = new Map<string, Operation>()
  // Programs in JavaScript may pass null as `args`.
  const call = (operation: Operation, args?: Arguments | null, more?: Options) =>
    send(transport, operation, args ?? {}, more)
  const list = (operation: Operation, args: Arguments = {}, more: ListOptions = {}): List<never> =>
    createList(call, operation, args, more)

  function branchOf(noun: K): Branch {
    const root: Branch = {}
    for (const line of table[noun].split('\n')) {
      const operation = readOperation(noun, line)
      const words = operation.name.split('.').slice(1)
      const verb = words.pop()!
      let branch = root
      for (const word of words) {
        branch[word] ??= {}
        branch = branch[word] as Branch
      }
      branch[verb] = operation.paging
        ? (args, more) => list(operation, args, more)
        : (args, more) => call(operation, args, more)
    }
    return root
  }

  function find(name: string): Operation {
    const operation = operations.get(name) ?? operationOf(table, name)
    if (operation === undefined)
      throw new WaypostError(`There is no operation ${name}`, { code: 'invalid_argument', operation: name })
    operations.set(name, operation)
    return operation
  }

  const generic: Generic = {
    call: async (name, args, more) => call(find(name), args, more),
    list(name, args, more) {
      const operation = find(name)
      if (operation.paging) return list(operation, args, more)
      throw new WaypostError(`${name} is not a list`, { code: 'invalid_argument', operation: name })
    },
    live: createLive(call),
  }
  const client = generic as Client<K>
  for (const noun of Object.keys(table) as K[]) {
    // The table has a line of text for each operation. The lines of a noun are parsed when the noun is first used.
    let branch: Branch | undefined
    Object.defineProperty(client, noun, {
      enumerable: true,
      get() {
        branch ??= branchOf(noun)
        return branch
      },
    })
  }
  return client
}
