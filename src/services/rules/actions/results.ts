/** Checks the results of expressions before an action does anything (document 5, 5.5). A wrong result fails only its action. */
import { PlatformError } from '../../../kernel/errors.ts'
import { parseJson } from '../../../kernel/http/body.ts'
import { checkAddress } from '../../../kernel/safe-fetch.ts'
import { absoluteTimeOf } from '../../../kernel/times.ts'
import type { Stage } from '../model.ts'
import type { ActionRun } from './executor.ts'

/** The error that an executor throws to end its action with the outcome FAILURE. */
export class ActionFailed extends Error {
  readonly stage: Stage
  readonly metadata: Record<string, unknown> | undefined

  constructor(reason: string, stage: Stage = 'ACTION_EXECUTION', metadata?: Record<string, unknown>) {
    super(reason)
    this.stage = stage
    this.metadata = metadata
  }
}

const wrongValue = (attribute: string, expected: string) => new ActionFailed(`${attribute}: expected ${expected}`)

/** Returns the value of an attribute, or undefined if it is absent. A literal is text, or parsed JSON if the attribute expects JSON. */
export async function read({ evaluate }: Pick<ActionRun, 'evaluate'>, attribute: string): Promise<unknown> {
  const evaluated = await evaluate(attribute)
  if (!evaluated.ok) throw new ActionFailed(evaluated.reason, evaluated.stage)
  return evaluated.value
}

/** Reads a constant, or the expression that is given instead of the constant. */
export const readConstantOrExpression = async (run: ActionRun, attribute: string): Promise<unknown> =>
  run.action.fields[`${attribute}Expression`] === undefined
    ? run.action.fields[attribute]
    : await read(run, `${attribute}Expression`)

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns an object from an object or its JSON text. */
export function objectOf(attribute: string, value: unknown): Record<string, unknown> {
  const object = typeof value === 'string' ? parsed(value) : value
  if (!isObject(object)) throw wrongValue(attribute, 'an object, or its JSON text')
  return object
}

/** Returns an object to store. Scripts can make values that a body of a request cannot have, such as texts with NUL. */
export function storableObjectOf(attribute: string, value: unknown): Record<string, unknown> {
  const json = JSON.stringify(objectOf(attribute, value))
  try {
    return parseJson(Buffer.from(json), { plainData: true, part: attribute }) as Record<string, unknown>
  } catch (error) {
    throw error instanceof PlatformError ? new ActionFailed(error.message) : error
  }
}

export function textOf(attribute: string, value: unknown): string {
  if (typeof value !== 'string') throw wrongValue(attribute, 'text')
  return value
}

/** Converts a value to text. Text stays as it is, undefined becomes an empty text, and everything else becomes JSON. */
export const textOrJson = (value: unknown) =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)

// --- Webhooks ---

export function webhookUrlOf(attribute: string, value: unknown, allowPrivate: boolean): URL {
  const text = textOf(attribute, value)
  const checked = checkAddress(text, { allowPrivate, allowHttp: true })
  if ('problem' in checked) throw new ActionFailed(`${attribute}: ${checked.problem}`)
  return checked.url
}

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/
const headersMax = 100
const headerBytesMax = 16 * 1024
/** Headers that an action must not set: hop-by-hop headers, and headers that the platform sets itself. */
const ownHeaders = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-waypost-delivery',
  'x-waypost-signature',
])

export function headersOf(attribute: string, value: unknown): Record<string, string> {
  if (value === undefined || value === null) return {}
  const headers = new Map<string, string>()
  const fail = (problem: string) => new ActionFailed(`${attribute}: ${problem}`)
  let bytes = 0
  for (const [name, given] of Object.entries(objectOf(attribute, value))) {
    const key = name.toLowerCase()
    if (!headerName.test(name)) throw fail(`${JSON.stringify(name.slice(0, 100))} is not the name of a header`)
    if (ownHeaders.has(key)) throw fail(`the header ${name} is set by the platform`)
    if (headers.has(key)) throw fail(`the header ${name} occurs twice`)
    if (!['string', 'number', 'boolean'].includes(typeof given))
      throw fail(`the value of ${name} is not a text, number or boolean`)
    const text = String(given)
    if (!headerValue.test(text)) throw fail(`the value of ${name} has characters that a header cannot have`)
    headers.set(key, text)
    bytes += key.length + text.length
  }
  if (headers.size > headersMax || bytes > headerBytesMax)
    throw fail(`expected at most ${headersMax} headers with ${headerBytesMax} characters`)
  return Object.fromEntries(headers)
}

/** Converts a value to a request body. Text stays as it is, null and undefined become an empty body, and everything else becomes JSON. */
export const payloadOf = (value: unknown) =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)

// --- Other actions ---

const idsMax = 1000

/** Accepts one id, an array of ids, or an array of endpoints. */
export function endpointIdsOf(attribute: string, value: unknown): string[] {
  const wrongIds = () => wrongValue(attribute, `an endpoint id, or an array of ids or endpoints, at most ${idsMax}`)
  const list = Array.isArray(value) ? value : [value]
  if (list.length > idsMax) throw wrongIds()
  const ids = list.map((item) => {
    const id = isObject(item) ? item.endpointId : item
    if (typeof id !== 'string' || id === '' || id.length > 255 || id.includes('\0')) throw wrongIds()
    return id
  })
  return [...new Set(ids)]
}

/**
 * Returns milliseconds since 1970. Accepts ISO text, which is also the form in which a Date arrives, and milliseconds as a number or text.
 */
export function timeOf(attribute: string, value: unknown): number {
  const time = typeof value === 'string' ? absoluteTimeOf(value) : value
  if (typeof time !== 'number' || !Number.isFinite(time))
    throw wrongValue(attribute, 'ISO 8601 text, milliseconds or a Date')
  return Math.trunc(time)
}
