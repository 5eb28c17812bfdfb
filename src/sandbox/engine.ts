/** Loads QuickJS as a WebAssembly module with a hard memory limit. */
import { readFile } from 'node:fs/promises'
import { memoryMax } from './limits.ts'

const pageBytes = 65_536
/** Memory in addition to the values of the script: the stack, static data and fragmentation of the allocator. */
const overheadBytes = 8 * 1024 * 1024

/** The C functions of quickjs-wasi that the sandbox calls. A `value` is a pointer to a JavaScript value inside QuickJS, the guest. */
export interface EngineExports {
  memory: WebAssembly.Memory
  __stack_pointer: WebAssembly.Global
  _initialize(): void
  qjs_init2(intrinsics: number): number
  qjs_set_memory_limit(bytes: number): void
  qjs_set_max_stack_size(bytes: number): void
  qjs_set_interrupt_handler(enabled: number): void
  qjs_eval(code: number, length: number, fileName: number, flags: number): number
  qjs_call(fn: number, self: number, count: number, values: number): number
  qjs_new_string(text: number, length: number): number
  qjs_new_number(value: number): number
  qjs_new_host_function(name: number, length: number, argumentCount: number): number
  qjs_get_undefined(): number
  qjs_dup_value(value: number): number
  qjs_is_exception(value: number): number
  qjs_is_string(value: number): number
  qjs_get_exception(): number
  qjs_get_prop_string(object: number, name: number): number
  qjs_get_string_len(value: number, length: number): number
  wasm_malloc(bytes: number): number
  wasm_free(address: number): void
}

let loading: Promise<WebAssembly.Module> | undefined

/** Compiles the module once for the whole process. Worker threads share the machine code. */
export function loadEngine(): Promise<WebAssembly.Module> {
  loading ??= readFile(new URL(import.meta.resolve('quickjs-wasi/quickjs.wasm'))).then((binary) =>
    WebAssembly.compile(withMemoryLimit(binary, Math.ceil((memoryMax + overheadBytes) / pageBytes))),
  )
  return loading
}

const sectionIds = { memory: 5, global: 6 }

/**
 * Returns the binary with a maximum number of pages in its memory section. The published binary has no maximum, so its memory could grow to
 * 4 GiB.
 */
export function withMemoryLimit(binary: Uint8Array, maxPages: number): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [binary.subarray(0, 8)]
  let limited = false
  for (const { id, start, body, end } of sectionsOf(binary)) {
    if (id === sectionIds.global && binary[body] !== 1)
      throw new Error('the QuickJS binary has unknown globals, so resetting its memory would not reset its state')
    if (id !== sectionIds.memory) {
      parts.push(binary.subarray(start, end))
      continue
    }
    if (binary[body] !== 1 || binary[body + 1] !== 0)
      throw new Error('the QuickJS binary has an unknown memory section')
    const content = [1, 1, ...binary.subarray(body + 2, end), ...leb128(maxPages)]
    parts.push(Uint8Array.from([id, ...leb128(content.length), ...content]))
    limited = true
  }
  if (!limited) throw new Error('the QuickJS binary has no memory section')
  return Buffer.concat(parts)
}

function* sectionsOf(binary: Uint8Array) {
  let at = 8
  while (at < binary.length) {
    const start = at
    const id = binary[at++]!
    let length = 0
    for (let shift = 0; ; shift += 7) {
      const byte = binary[at++]!
      length |= (byte & 127) << shift
      if (byte < 128) break
    }
    yield { id, start, body: at, end: at + length }
    at += length
  }
}

function leb128(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...leb128(value >>> 7)]
}
