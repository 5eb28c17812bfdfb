/** Extension `dcx` (2/DCP): devices send samples. */
import { isUtf8 } from 'node:buffer'
import type { Kit } from '../../kernel/define-service.ts'
import type { DeviceMessage, Extension } from '../../kernel/device.ts'
import { jsonPayload, resources } from '../../kernel/device-resources.ts'
import { InvalidRequest, invalidField } from '../../kernel/errors.ts'
import { bodyLimitBytes } from '../../kernel/http/body.ts'
import { AnyJson } from '../../kernel/schema.ts'
import type { TimeSeries } from './contract.ts'
import type { Enrichment } from './device/enrichment.ts'
import { receivedMessage } from './device/received-message.ts'

// Numbers such as nanoseconds and 64-bit ids are rounded to the nearest double.
const json = jsonPayload(AnyJson(), { roundIntegers: true, bytesMax: bodyLimitBytes })
const samplesMax = 10_000

/** Returns the samples of a message. An array is a batch: `[85, 34]` is two samples, `[[85, 34]]` is one. */
function samplesIn(payload: Buffer): unknown[] {
  const value = json(payload)
  const samples = Array.isArray(value) ? value : [value]
  if (samples.length > samplesMax) throw invalidField('payload', `expected at most ${samplesMax} samples`)
  return samples
}

const plainPattern = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*)$/s
const plainBytesMax = 256

/** Parses `47`, `47%` or `2061m`: a number with an optional unit. */
export function plainSample(metric: string, payload: Buffer): Record<string, unknown> {
  if (metric.length > 255 || metric.includes('\0') || !metric.isWellFormed())
    throw invalidField('metric', 'expected up to 255 characters')
  const invalidPayload = () =>
    InvalidRequest({ problem: 'payload: expected a number, optionally with its unit, such as 47 or 47%' })
  if (payload.length > plainBytesMax || !isUtf8(payload)) throw invalidPayload()
  const [, source, unit = ''] = payload.toString('utf8').trim().match(plainPattern) ?? []
  if (source === undefined || unit.includes('\0')) throw invalidPayload()
  const value = Number(source)
  if (!Number.isFinite(value)) throw invalidPayload()
  return { [`${metric}-value`]: value, [`${metric}-unit`]: unit === '' ? 'number' : unit }
}

/** Returns the samples in a message. Services that read recorded messages use this function. */
export function samplesOf({ resourcePath, payload }: { resourcePath: string; payload: Buffer }): unknown[] | undefined {
  const [, kind, metric] = /^\/(json|plain)(?:\/([^/]*))?/.exec(resourcePath) ?? []
  try {
    if (kind === 'json') return samplesIn(payload)
    return kind === 'plain' && metric ? [plainSample(metric, payload)] : undefined
  } catch {
    return undefined
  }
}

const emptyResponse = {}
const toEmptyResponse = () => emptyResponse

export function dataCollection({
  timeSeries,
  enriched,
  bus,
  connectivityChanged,
}: {
  timeSeries: Pick<TimeSeries, 'collect'>
  enriched: Enrichment
  bus: Pick<Kit['bus'], 'isWanted'>
  connectivityChanged: NonNullable<Extension['connectivityChanged']>
}): Extension {
  /** Stores and publishes samples in one commit. If the commit fails, the device gets an error and sends the message again. */
  const store = (message: DeviceMessage, samples: unknown[], sent: unknown[]) =>
    timeSeries.collect(message, samples, receivedMessage(bus, message, samples, sent)).then(toEmptyResponse)

  function collect(message: DeviceMessage, samples: unknown[]) {
    if (samples.length === 0) return emptyResponse
    const enrichedSamples = enriched(message.endpoint, samples)
    // In the usual case, the promise of the commit is the only promise that is created.
    return enrichedSamples instanceof Promise
      ? enrichedSamples.then((enriched) => store(message, enriched, samples))
      : store(message, enrichedSamples, samples)
  }

  return {
    name: 'dcx',
    receive: resources({
      '/json[/<*>]': (message) => collect(message, samplesIn(message.payload)),
      '/plain/<metric>': (message, { metric = '' }) => collect(message, [plainSample(metric, message.payload)]),
    }),
    connectivityChanged,
  }
}

/** Returns a function that sends samples to the extension as a device would. */
export const receiveFor =
  ({ receive }: Extension, { now, newId }: Pick<Kit, 'now' | 'newId'>): TimeSeries['receive'] =>
  async (endpoint, samples, { cause }) => {
    const payload = Buffer.from(JSON.stringify(samples))
    const message = { extension: 'dcx', resourcePath: '/json', receivedAt: now(), correlationId: newId() }
    await receive({ endpoint, ...message, payload, cause })
  }
