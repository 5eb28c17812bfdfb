/** Runs scripts in QuickJS, one after the other. Each run starts from the same memory image and therefore in a fresh world. */

import { wallClockMs } from './clock.ts'
import { changedParts, createCompiledScripts, freeByte, type MemoryPart } from './compiled-scripts.ts'
import type { EngineExports } from './engine.ts'
import { createGuest, prepareGlobals } from './guest.ts'

/** Name of the user's script in stack traces of the guest. */
const scriptFile = 'script'
const guestFile = 'sandbox'
/** Size of the guest's C stack. Deeper recursion is a RangeError inside the script. */
const stackBytes = 256 * 1024
/** The C stack grows downwards from this address to address 0, so an overflow traps instead of overwriting data. */
const stackTop = stackBytes + 64 * 1024
/** Size of the free heap in each image. With this space, small scripts do not grow the WebAssembly memory, which cannot shrink. */
const reserveBytes = 256 * 1024
/** All built-in objects except performance and weak references, which reveal time and garbage collection. */
const intrinsics = 0xffff_ffff & ~(1 << 9) & ~(1 << 10)

export interface MachineHost {
  /** Answers a host call with `+` and JSON, or with `-` and the text of an error. A thrown error ends the run. */
  call(name: string, args: string): string
  log(line: string): void
  /** Called when a script reads the clock or needs random numbers. A further run of the script may then have another result. */
  varies(): void
  /** Called every `stepUnit` steps. Returning true ends the run. */
  interrupt(): boolean
}

export interface MachineOptions {
  module: WebAssembly.Module
  /** Source text of each world by its name: a function that returns the context of a script (`ctx`) for an input. */
  worlds: Record<string, string>
  /** Memory limit for all values of a script. */
  memoryBytes: number
}

interface Engine {
  exports: EngineExports
  /** Lowest address of data. The C stack is far below it, and is empty between runs. */
  base: number
}

/** The memory of an engine from `base` on, with the pointers that are valid in it. */
interface Image {
  /** The parts of the memory that are not empty. The rest is free memory, whose content does not matter. */
  parts: MemoryPart[]
  memorySize: number
  pointers: Pointers
}

interface Pointers {
  undefined: number
  length: number
  values: number
  scriptFile: number
  build: number
  run: number
  keep: number
  describe: number
}

/** A context for one or several scripts. It is valid until the next `open`. */
export interface Opened {
  image: Image
  ctx: number
  /** The compiled script, if the context is for one script only; undefined if it must still be compiled. */
  compiled: number | undefined
  /** True until the first evaluation: the engine's memory is still as `open` has left it. */
  fresh: boolean
}

/** A text from the guest: a mark followed by JSON (`guest.ts`). Undefined if the guest could not answer. */
export type GuestReply = string | undefined

export interface Machine {
  /**
   * Parses the context of a job. If that is impossible, returns the failure. `owner` is the tenant: if it changes, data of earlier scripts
   * is erased. `only` is the script, if no other script uses this context.
   */
  open(world: string, owner: string, input: string, only: Script | undefined): Opened | { failure: GuestReply }
  evaluate(opened: Opened, script: Script, maxLength: number, keep: string[]): { reply: GuestReply; kept: GuestReply[] }
}

export interface Script {
  text: string
  /** Name of a function that the script declares. It is called with the context, instead of using the script's own `return`. */
  entry?: string | undefined
  /** True if the script is parsed and compiled, but not run. The result is the JSON of `Checked`. */
  isChecked?: boolean | undefined
}

export function createMachine({ module, worlds, memoryBytes }: MachineOptions, host: MachineHost): Machine {
  const images = new Map(
    Object.entries(worlds).map(([name, source]) => [name, buildWorld(createEngine(module, host), source, memoryBytes)]),
  )
  const maxSize = Math.max(...[...images.values()].map(({ memorySize }) => memorySize))
  const compiledScripts = createCompiledScripts()
  let engine = createEngine(module, host)
  let owner: string | undefined

  /** Makes the engine's memory equal to the image. If the memory has grown, the engine is replaced. */
  const load = (image: Image) => {
    const size = engine.exports.memory.buffer.byteLength
    if (size > Math.max(maxSize, image.memorySize)) engine = createEngine(module, host)
    const { memory, __stack_pointer } = engine.exports
    const missing = image.memorySize - memory.buffer.byteLength
    if (missing > 0) memory.grow(missing / 65_536)
    const target = new Uint8Array(memory.buffer)
    for (const { at, bytes } of image.parts) target.set(bytes, at)
    __stack_pointer.value = stackTop
  }

  /** Overwrites data that earlier scripts have left outside of the image, on the C stack and in free memory. */
  const erase = (image: Image, byte = 0) => {
    const bytes = new Uint8Array(engine.exports.memory.buffer)
    bytes.fill(byte, 0, stackTop)
    let end = engine.base
    for (const part of image.parts) {
      bytes.fill(byte, end, part.at)
      end = part.at + part.bytes.length
    }
    bytes.fill(byte, end)
  }

  /**
   * Compiles a script in a fresh world, or restores the result of an earlier compilation. Returns undefined if the script does not parse.
   */
  const compile = (image: Image, world: string, script: Script): number | undefined => {
    const key = `${world} ${owner} ${script.entry ?? ''}\n${script.text}`
    const known = compiledScripts.find(key)
    const memory = () => new Uint8Array(engine.exports.memory.buffer)
    if (known) {
      for (const { at, bytes } of known.parts) memory().set(bytes, at)
      return known.value
    }
    const isKept = compiledScripts.isRepeated(key)
    if (isKept) erase(image, freeByte)
    const value = evalText(engine, wrap(script), image.pointers.scriptFile)
    if (engine.exports.qjs_is_exception(value)) {
      load(image)
      return undefined
    }
    // If the compilation grew the memory, the script is too large to be kept.
    if (isKept && memory().length <= image.memorySize)
      compiledScripts.keep(key, { parts: changedParts(memory(), image.parts, engine.base), value })
    return value
  }

  return {
    open(world, newOwner, input, only) {
      const image = images.get(world)!
      load(image)
      if (owner !== newOwner) erase(image)
      owner = newOwner
      const { pointers } = image
      const compiled = only && !only.isChecked ? compile(image, world, only) : undefined
      const ctx = callGuest(engine, pointers, pointers.build, [newString(engine, input)])
      if (engine.exports.qjs_is_exception(ctx)) return { failure: describe(engine, pointers) }
      return { image: only ? image : takeImage(engine, pointers, 65_536), ctx, compiled, fresh: true }
    },
    evaluate(opened, script, maxLength, keep) {
      if (!opened.fresh) load(opened.image)
      opened.fresh = false
      return evaluate(engine, opened, script, maxLength, keep)
    },
  }
}

function evaluate(engine: Engine, opened: Opened, script: Script, maxLength: number, keep: string[]) {
  const { ctx } = opened
  const { pointers } = opened.image
  const { exports } = engine
  const compiled = opened.compiled ?? evalText(engine, wrap(script), pointers.scriptFile)
  if (exports.qjs_is_exception(compiled)) return { reply: describe(engine, pointers, '?'), kept: [] }
  if (script.isChecked) return { reply: '=null', kept: [] }
  const length = exports.qjs_new_number(maxLength)
  const value = callGuest(engine, pointers, pointers.run, [compiled, ctx, length])
  if (exports.qjs_is_exception(value)) return { reply: describe(engine, pointers), kept: [] }
  const reply = readString(engine, pointers, value)
  if (reply?.[0] !== '=') return { reply, kept: [] }
  const kept = keep.map((name) =>
    readString(engine, pointers, callGuest(engine, pointers, pointers.keep, [ctx, newString(engine, name), length])),
  )
  return { reply, kept }
}

/** Wraps the user's text in a function. The text starts on line 2, column 1. */
function wrap({ text, entry }: Script): string {
  return `(function (ctx) {\n${text}\n${entry === undefined ? '' : `return ${entry}(ctx)\n`}})`
}

function createEngine(module: WebAssembly.Module, host: MachineHost): Engine {
  const engine = { base: 0 } as Engine
  const ignore = () => 0
  const instance = new WebAssembly.Instance(module, {
    env: {
      host_call: (name: number, length: number, _self: number, count: number, values: number) =>
        answerHostCall(engine, host, name, length, count, values),
      host_interrupt: () => (host.interrupt() ? 1 : 0),
      host_promise_rejection: ignore,
      host_module_normalize: ignore,
      host_module_load: ignore,
      host_get_timezone_offset: ignore, // Dates are in UTC.
    },
    wasi_snapshot_preview1: {
      clock_time_get(_clock: number, _precision: bigint, at: number) {
        host.varies()
        new DataView(engine.exports.memory.buffer).setBigUint64(at, BigInt(wallClockMs()) * 1_000_000n, true)
        return 0
      },
      random_get(at: number, length: number) {
        host.varies()
        crypto.getRandomValues(new Uint8Array(engine.exports.memory.buffer, at, length))
        return 0
      },
      fd_write: () => 8, // EBADF: there are no files.
      fd_close: () => 8,
      fd_fdstat_get: () => 8,
      fd_seek: () => 8,
    },
  })
  engine.exports = instance.exports as unknown as EngineExports
  engine.base = engine.exports.__stack_pointer.value
  engine.exports.__stack_pointer.value = stackTop
  return engine
}

function answerHostCall(
  engine: Engine,
  host: MachineHost,
  name: number,
  length: number,
  count: number,
  values: number,
) {
  const { memory, qjs_get_undefined } = engine.exports
  const functionName = textAt(engine, name, length)
  if (functionName === 'seed') {
    host.varies()
    return engine.exports.qjs_new_number(Math.floor(Math.random() * 2 ** 32))
  }
  const view = new DataView(memory.buffer)
  const texts = Array.from({ length: count }, (_, index) =>
    readString(engine, undefined, view.getUint32(values + index * 4, true)),
  )
  if (functionName === 'log') {
    host.log(texts[0] ?? '')
    return qjs_get_undefined()
  }
  return newString(engine, host.call(texts[0] ?? '', texts[1] ?? '[]'))
}

/** Starts QuickJS, compiles the guest functions and the world, and takes the image from which every run starts. */
function buildWorld(engine: Engine, source: string, memoryBytes: number): Image {
  const { exports } = engine
  exports._initialize()
  if (exports.qjs_init2(intrinsics | 0) !== 0) throw new Error('QuickJS did not start')
  exports.qjs_set_memory_limit(memoryBytes)
  exports.qjs_set_max_stack_size(stackBytes)
  const pointers = {
    undefined: exports.qjs_get_undefined(),
    length: exports.wasm_malloc(4),
    values: exports.wasm_malloc(16),
    scriptFile: newText(engine, scriptFile).at,
  } as Pointers
  const guestName = newText(engine, guestFile).at
  const hostFunction = (name: string) => {
    const text = newText(engine, name)
    return exports.qjs_new_host_function(text.at, text.length, 0)
  }
  const [prepare, create, world] = [`${prepareGlobals}`, `${createGuest}`, source].map((text) => {
    const value = evalText(engine, `(${text})`, guestName)
    if (exports.qjs_is_exception(value)) throw new Error('a world of the sandbox does not parse')
    return value
  })
  const globals = callGuest(engine, pointers, prepare!, [hostFunction('log'), hostFunction('seed')])
  const guest = callGuest(engine, pointers, create!, [hostFunction('call'), globals, world!])
  if (exports.qjs_is_exception(guest)) throw new Error(`a world of the sandbox failed: ${describe(engine, pointers)}`)
  for (const name of ['build', 'run', 'keep', 'describe'] as const)
    pointers[name] = exports.qjs_get_prop_string(guest, newText(engine, name).at)
  const reserve = exports.wasm_malloc(reserveBytes)
  exports.wasm_free(reserve)
  exports.qjs_set_interrupt_handler(1)
  return takeImage(engine, pointers, 4096)
}

const zeros = Buffer.alloc(65_536)

/** Returns an image of the engine: copies of the blocks of memory above `base` that are not empty. */
function takeImage({ exports, base }: Engine, pointers: Pointers, blockBytes: number): Image {
  const memory = new Uint8Array(exports.memory.buffer)
  const zero = zeros.subarray(0, blockBytes)
  const parts: Image['parts'] = []
  let start = -1
  for (let at = base; at <= memory.length; at += blockBytes) {
    const isEmpty = at === memory.length || zero.equals(memory.subarray(at, at + blockBytes))
    if (!isEmpty && start === -1) start = at
    if (isEmpty && start !== -1) {
      parts.push({ at: start, bytes: memory.slice(start, at) })
      start = -1
    }
  }
  return { parts, memorySize: memory.length, pointers }
}

function callGuest({ exports }: Engine, pointers: Pointers, fn: number, values: number[]): number {
  const view = new DataView(exports.memory.buffer)
  for (const [index, value] of values.entries()) view.setUint32(pointers.values + index * 4, value, true)
  return exports.qjs_call(fn, pointers.undefined, values.length, pointers.values)
}

/** Describes the pending exception. Returns undefined if that fails too, for example because memory is exhausted. */
function describe(engine: Engine, pointers: Pointers, mark = '!'): GuestReply {
  const { exports } = engine
  const text = callGuest(engine, pointers, pointers.describe, [exports.qjs_get_exception()])
  const reply = readString(engine, pointers, text)
  return reply === undefined ? undefined : mark + reply
}

function evalText(engine: Engine, code: string, fileName: number): number {
  const text = newText(engine, code)
  const value = engine.exports.qjs_eval(text.at, text.length, fileName, 0)
  engine.exports.wasm_free(text.at)
  return value
}

function newString(engine: Engine, text: string): number {
  const { at, length } = newText(engine, text)
  const value = engine.exports.qjs_new_string(at, length)
  engine.exports.wasm_free(at)
  return value
}

const encoder = new TextEncoder()

/** Writes a text as UTF-8 with a final NUL. */
function newText({ exports }: Engine, text: string): { at: number; length: number } {
  const room = text.length * 3 + 1
  const at = exports.wasm_malloc(room)
  if (at === 0) throw new OutOfMemory()
  const length = encoder.encodeInto(text, new Uint8Array(exports.memory.buffer, at, room - 1)).written
  new Uint8Array(exports.memory.buffer)[at + length] = 0
  return { at, length }
}

/** Thrown if the WebAssembly memory is exhausted. */
export class OutOfMemory extends Error {
  override readonly name = 'OutOfMemory'
}

/** Reads a string of the guest. Returns undefined if the value is not a string. */
function readString(engine: Engine, pointers: Pointers | undefined, value: number): string | undefined {
  const { exports } = engine
  if (exports.qjs_is_exception(value) || !exports.qjs_is_string(value)) return undefined
  const length = pointers?.length ?? exports.wasm_malloc(4)
  const at = exports.qjs_get_string_len(value, length)
  if (at === 0 || length === 0) return undefined
  return textAt(engine, at, new DataView(exports.memory.buffer).getUint32(length, true))
}

const textAt = ({ exports }: Engine, at: number, length: number) =>
  Buffer.from(exports.memory.buffer, at, length).toString('utf8')
