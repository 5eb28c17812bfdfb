/**
 * Functions that the machine calls inside QuickJS. The texts that `run` and `keep` return begin with `=` (JSON of the value), `>` (too
 * long), `#` (the value has no JSON) or `!` (the script failed).
 */
export interface Guest {
  build(input: string): unknown
  run(script: (ctx: unknown) => unknown, ctx: unknown, maxLength: number): string
  keep(ctx: unknown, name: string, maxLength: number): string
  describe(error: unknown): string
}

type CallHost = (name: string, args: string) => string
type World = (input: unknown, call: (name: string, ...args: unknown[]) => unknown) => unknown

interface Globals {
  textOf(value: unknown): string
}

/** Prepares the global objects. Like `createGuest`, this function is compiled inside QuickJS and can use nothing from outside. */
export function prepareGlobals(log: (line: string) => void, newSeed: () => number): Globals {
  const { stringify } = JSON
  const { imul } = Math
  // Without this toJSON, a promise inside a result would silently become {}.
  const refuseJson = (prototype: object, message: string) =>
    Object.defineProperty(prototype, 'toJSON', {
      value() {
        throw new TypeError(message)
      },
      configurable: true,
      writable: true,
    })
  refuseJson(Promise.prototype, 'a promise has no JSON; calls are synchronous, so leave out async and await')
  refuseJson(BigInt.prototype, 'a BigInt has no JSON; convert it with Number() or String()')

  const textOf = (value: unknown): string => {
    if (typeof value === 'string') return value
    if (value instanceof Error) return `${value.name}: ${value.message}`
    try {
      return stringify(value) ?? String(value)
    } catch {
      return String(value)
    }
  }
  const write = (...values: unknown[]) => log(values.map(textOf).join(' ').slice(0, 65_537))
  Object.assign(globalThis, { console: { log: write, info: write, warn: write, error: write, debug: write } })
  for (const name of ['Atomics', 'SharedArrayBuffer', 'performance']) Reflect.deleteProperty(globalThis, name)

  // Every run starts from the same memory, so the built-in generator would return the same random numbers in each run. The seed is
  // requested when it is needed, so that the host knows which runs use random numbers.
  let state: number | undefined
  const random32 = () => {
    state ??= newSeed()
    state = (state + 0x6d2b79f5) | 0
    let mixed = imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  Math.random = function random() {
    return ((random32() >>> 5) * 67_108_864 + (random32() >>> 6)) / 9_007_199_254_740_992
  }
  return { textOf }
}

/**
 * Creates the functions of a world. The source text of this function is compiled inside QuickJS, so it can use nothing from outside. A
 * script may change every built-in object, but this affects only its own run, because the host checks everything that the guest returns.
 */
export function createGuest(callHost: CallHost, { textOf }: Globals, world: World): Guest {
  const { parse, stringify } = JSON

  const call = (name: string, ...args: unknown[]) => {
    const reply = callHost(name, stringify(args))
    if (reply[0] !== '+') throw new Error(reply.slice(1))
    return parse(reply.slice(1))
  }

  const readText = (error: object, key: string) => {
    try {
      const value = (error as Record<string, unknown>)[key]
      return typeof value === 'string' ? value.slice(0, 4000) : undefined
    } catch {
      return undefined
    }
  }
  const describe = (error: unknown): string => {
    if ((typeof error !== 'object' && typeof error !== 'function') || error === null)
      return stringify({ thrown: textOf(error).slice(0, 4000) })
    const [name, message, stack] = [readText(error, 'name'), readText(error, 'message'), readText(error, 'stack')]
    if (message !== undefined) return stringify({ name, message, stack })
    let thrown: string
    try {
      thrown = textOf(error).slice(0, 4000)
    } catch {
      thrown = 'a value without text'
    }
    return stringify({ thrown, stack })
  }

  const noJson = (message: string) => `#${stringify({ message: message })}`
  const jsonOf = (value: unknown, maxLength: number): string => {
    if (value === undefined) return '=null'
    if (typeof value === 'function' || typeof value === 'symbol') return noJson(`a ${typeof value} has no JSON`)
    try {
      const text = stringify(value) ?? 'null'
      return text.length > maxLength ? '>' : `=${text}`
    } catch (error) {
      const isCycle = error instanceof TypeError && error.message === 'circular reference'
      return isCycle ? noJson('an object that contains itself has no JSON') : `#${describe(error)}`
    }
  }

  return {
    build: (input) => world(parse(input), call),
    run(script, ctx, maxLength) {
      let value: unknown
      try {
        value = script(ctx)
      } catch (error) {
        return `!${describe(error)}`
      }
      return jsonOf(value, maxLength)
    },
    keep(ctx, name, maxLength) {
      try {
        return jsonOf((ctx as Record<string, unknown>)[name], maxLength)
      } catch (error) {
        return `#${describe(error)}`
      }
    },
    describe,
  }
}
