/**
 * Runs payload formatters in the sandbox. They define `decodeUplink` and `encodeDownlink`, as public device codecs do, or the older
 * functions `Decoder(bytes, port)`, `Decode(port, bytes)`, `Encoder(object, port)` and `Encode(port, object)`.
 */
import type { Limits } from '../../sandbox/limits.ts'
import { failureText, type Outcome } from '../../sandbox/outcome.ts'
import { createSandbox, type Sandbox } from '../../sandbox/sandbox.ts'

/** Tells which functions a formatter has. */
export interface CodecFunctions {
  decodes: boolean
  encodes: boolean
}

export type Decoded = { data: Record<string, unknown> } | { error: string }
export type Encoded = { bytes: Buffer; fPort?: number } | { error: string }

export interface Codecs {
  /** Returns which functions a formatter has, or why it cannot be used. */
  inspect(tenantId: string, formatter: string): Promise<CodecFunctions | { error: string }>
  /** Decodes an uplink. Rejects only with SandboxBusy and SandboxStopped; any failure of the formatter is returned as a result. */
  decode(given: {
    tenantId: string
    formatter: string
    bytes: Uint8Array
    fPort: number
    recvTime: Date
  }): Promise<Decoded>
  encode(given: { tenantId: string; formatter: string; data: unknown; fPort: number }): Promise<Encoded>
  stop(): Promise<void>
}

/**
 * Maximum length of a formatter. It is a little below the maximum of a script, because the sandbox adds the call of the formatter
 * (sandbox/limits.ts).
 */
export const formatterLengthMax = 65_000
const bytesMax = 1024
const limits: Partial<Limits> = { timeMs: 1000, steps: 20_000_000, resultBytes: 256 * 1024, logLines: 20 }

/**
 * Script that prepares the sandbox. It creates `module` and `exports`, because codecs for Node.js end with `module.exports = …`. The
 * sandbox runs this script once and keeps an image of the result. `recvTime` becomes a Date, as in The Things Stack.
 */
const world = `(() => {
  globalThis.module = { exports: {} }
  globalThis.exports = globalThis.module.exports
  return (input) => (input.recvTime === undefined ? input : { ...input, recvTime: new Date(input.recvTime) })
})()`

const isFunction = (name: string) => `typeof ${name} === 'function'`
const exported = (name: string) => `(typeof module === 'object' && module !== null && module.exports || {}).${name}`

const decoding = `
;return ${isFunction('decodeUplink')} ? decodeUplink(ctx)
  : ${isFunction('Decoder')} ? { data: Decoder(ctx.bytes, ctx.fPort) }
  : ${isFunction('Decode')} ? { data: Decode(ctx.fPort, ctx.bytes, {}) }
  : ${exported('decodeUplink')}(ctx)`
const encoding = `
;return ${isFunction('encodeDownlink')} ? encodeDownlink(ctx)
  : ${isFunction('Encoder')} ? { bytes: Encoder(ctx.data, ctx.fPort) }
  : ${isFunction('Encode')} ? { bytes: Encode(ctx.fPort, ctx.data, {}) }
  : ${exported('encodeDownlink')}(ctx)`
type Entry = 'decodeUplink' | 'encodeDownlink'
const searching: Record<Entry, string> = { decodeUplink: decoding, encodeDownlink: encoding }
/** Matches a declaration at the start of a line, which is nearly always the declaration of the formatter itself. */
const declared: Record<Entry, RegExp> = {
  decodeUplink: /^function decodeUplink\s*\(/m,
  encodeDownlink: /^function encodeDownlink\s*\(/m,
}
const anyOf = (names: string[], last: string) =>
  [...names.map(isFunction), `typeof ${exported(last)} === 'function'`].join(' || ')
const inspection = `
;return {
  decodes: ${anyOf(['decodeUplink', 'Decoder', 'Decode'], 'decodeUplink')},
  encodes: ${anyOf(['encodeDownlink', 'Encoder', 'Encode'], 'encodeDownlink')} }`

export function createCodecs(onError: (error: unknown) => void): Codecs {
  let started: Sandbox | undefined
  // The threads of the sandbox start with the first formatter, because most installations have no formatter.
  const sandbox = () => {
    started ??= createSandbox({ worlds: { lorawan: world }, onError })
    return started
  }
  const run = (tenantId: string, script: string, input: string): Promise<Outcome> =>
    sandbox().run({ tenantId, world: 'lorawan', input, script, limits })

  /**
   * Calls a function of the formatter. A function that is declared under the name `entry` is called directly. Otherwise the script gets an
   * additional part that looks for the function under other names. This part has to be compiled in each run.
   */
  async function callOf(entry: Entry, tenantId: string, formatter: string, input: string): Promise<Outcome> {
    if (!declared[entry].test(formatter)) return await run(tenantId, formatter + searching[entry], input)
    const outcome = await sandbox().run({ tenantId, world: 'lorawan', input, script: formatter, entry, limits })
    // If the function is not defined, its name occurs only in a comment or inside another function.
    const isNotDefined = !outcome.ok && failureText(outcome).includes(`${entry} is not defined`)
    return isNotDefined ? await run(tenantId, formatter + searching[entry], input) : outcome
  }

  return {
    inspect: (tenantId, formatter) => inspect(sandbox(), run, tenantId, formatter),
    async decode({ tenantId, formatter, bytes, fPort, recvTime }) {
      const input = `{"bytes":[${bytes.join()}],"fPort":${fPort},"recvTime":"${recvTime.toISOString()}"}`
      const outcome = await callOf('decodeUplink', tenantId, formatter, input)
      return outcome.ok ? decodedOf(JSON.parse(outcome.json)) : { error: `decodeUplink: ${failureText(outcome)}` }
    },
    async encode({ tenantId, formatter, data, fPort }) {
      const outcome = await callOf('encodeDownlink', tenantId, formatter, JSON.stringify({ data, fPort }))
      return outcome.ok ? encodedOf(JSON.parse(outcome.json)) : { error: `encodeDownlink: ${failureText(outcome)}` }
    },
    stop: async () => await started?.stop(),
  }
}

async function inspect(
  sandbox: Sandbox,
  run: (tenantId: string, script: string, input: string) => Promise<Outcome>,
  tenantId: string,
  formatter: string,
): Promise<CodecFunctions | { error: string }> {
  if (formatter.length > formatterLengthMax)
    return { error: `expected at most ${formatterLengthMax} characters, found ${formatter.length}` }
  const parsed = await sandbox.check({ tenantId, script: formatter })
  if (!parsed.ok) return { error: failureText(parsed) }
  if (parsed.hasOwnReturn) return { error: 'has a return statement outside of a function' }
  const outcome = await run(tenantId, formatter + inspection, '{}')
  if (!outcome.ok) return { error: failureText(outcome) }
  const functions: CodecFunctions = JSON.parse(outcome.json)
  return functions.decodes || functions.encodes
    ? functions
    : { error: 'expected a function decodeUplink or encodeDownlink' }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const textMax = 1000

/** Returns the errors that a codec reports as one text, or undefined if the codec reports no errors. */
function reportedErrors(result: unknown): string | undefined {
  const errors = isObject(result) ? result.errors : undefined
  if (errors === undefined || errors === null || (Array.isArray(errors) && errors.length === 0)) return undefined
  const texts = [errors].flat().map((error) => (typeof error === 'string' ? error : JSON.stringify(error)))
  return texts.join('; ').slice(0, textMax)
}

function decodedOf(result: unknown): Decoded {
  const errors = reportedErrors(result)
  if (errors !== undefined) return { error: `decodeUplink: ${errors}` }
  if (!isObject(result) || !isObject(result.data)) return { error: 'decodeUplink: the result has no object `data`' }
  return { data: result.data }
}

function encodedOf(result: unknown): Encoded {
  const errors = reportedErrors(result)
  if (errors !== undefined) return { error: `encodeDownlink: ${errors}` }
  const { bytes, fPort } = isObject(result) ? result : {}
  if (!Array.isArray(bytes) || bytes.length > bytesMax || !bytes.every(isByte))
    return { error: 'encodeDownlink: the result has no list `bytes` of numbers from 0 to 255' }
  if (fPort === undefined || fPort === null) return { bytes: Buffer.from(bytes) }
  if (!isPort(fPort)) return { error: 'encodeDownlink: expected `fPort` from 1 to 223' }
  return { bytes: Buffer.from(bytes), fPort }
}

const isByte = (value: unknown) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255
const isPort = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 223
