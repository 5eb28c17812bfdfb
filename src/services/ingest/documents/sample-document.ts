/** Builds the JSON text of a document: a sample with its origin (document 3, 1.20). */
import type { DeviceEndpoint, DeviceMessage } from '../../../kernel/device.ts'
import { mayHoldLongIntegers, parseExact, stringifyExact } from '../exact-json.ts'

/**
 * Returns the samples with exact 64-bit integers, read from the payload; time series round integers to doubles. Fields that the platform
 * has added to a sample are kept.
 */
export function exactSamples({ payload }: DeviceMessage, samples: unknown[]): unknown[] {
  if (payload.length < longIntegerLength) return samples
  const text = payload.toString('latin1')
  if (!mayHoldLongIntegers(text)) return samples
  const parsed = parsedOrUndefined(payload.toString('utf8'))
  const exact = Array.isArray(parsed) ? parsed : [parsed]
  if (exact.length !== samples.length) return samples
  return samples.map((sample, index) => {
    const sent = exact[index]
    if (!isObject(sample) || !isObject(sent))
      return typeof sample === typeof sent || typeof sent === 'bigint' ? sent : sample
    return { ...sample, ...sent }
  })
}

const longIntegerLength = 16

/** Parses JSON. Returns undefined for a text that is not JSON, such as a message in the plain format. */
function parsedOrUndefined(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Writes a document. `isExact` means that the sample may contain BigInts, whose JSON takes longer to write. */
export function writeDocument({ endpoint, receivedAt }: DeviceMessage, sample: unknown, isExact: boolean): string {
  const text = isExact ? stringifyExact(sample) : JSON.stringify(sample)
  return `{"@timestamp":"${isoOf(receivedAt)}",${originOf(endpoint)},"dataSample":${text}}`
}

/** Returns a time as ISO 8601. The last text is kept, because a busy node receives several messages in a millisecond. */
const isoOf = (() => {
  let [last, text] = [Number.NaN, '']
  return (time: Date) => {
    const ms = time.getTime()
    if (ms !== last) [last, text] = [ms, time.toISOString()]
    return text
  }
})()

/** The fields that all documents of an endpoint share, as JSON text. All messages of an endpoint on one connection have the same key. */
const origins = new WeakMap<DeviceEndpoint, string>()

function originOf(endpoint: DeviceEndpoint): string {
  const known = origins.get(endpoint)
  if (known !== undefined) return known
  const { tenantId, applicationName, versionName, endpointId } = endpoint
  const fields = { tenantId, appName: applicationName, appVersionName: versionName, endpointId }
  const text = JSON.stringify(fields).slice(1, -1)
  origins.set(endpoint, text)
  return text
}

/** Adds the error of the pipeline to the unprocessed document. */
export const withError = (document: string, error: { processor: string; type: string; reason: string }): string =>
  `${document.slice(0, -1)},"ingestError":${JSON.stringify({ ...error, reason: storableReason(error.reason) })}}`

/** A script determines the text of its error. The text may be long, or contain characters that PostgreSQL cannot store. */
const storableReason = (reason: string) =>
  (reason.length > reasonMax ? `${reason.slice(0, reasonMax)}…` : reason).toWellFormed().replaceAll('\0', '\ufffd')

const reasonMax = 10_000
