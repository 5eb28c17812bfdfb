/** dcx (2/DCP): samples in. */
import { isUtf8 } from 'node:buffer'
import type { DeviceMessage, Extension } from '../../kernel/device.ts'
import { jsonPayload, resources } from '../../kernel/device-resources.ts'
import { InvalidRequest, invalidField } from '../../kernel/errors.ts'
import { AnyJson } from '../../kernel/schema.ts'
import type { Attached } from './attached.ts'
import type { Enrichment } from './enrichment.ts'
import type { TellSamples } from './telling.ts'

// Firmware sends nanoseconds and ids of 64 bits: the nearest double is what a series can hold of them.
const json = jsonPayload(AnyJson(), { nearest: true })
const samplesMax = 10_000

/** An array is a batch: `[85, 34]` are two samples, `[[85, 34]]` is one. */
function samplesIn(payload: Buffer): unknown[] {
  const value = json(payload)
  const samples = Array.isArray(value) ? value : [value]
  if (samples.length > samplesMax) throw invalidField('payload', `expected at most ${samplesMax} samples`)
  return samples
}

const plain = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*)$/s
const plainBytesMax = 256

/** `47`, `47%`, `2061m`: a number and perhaps its unit. */
export function plainSample(metric: string, payload: Buffer): Record<string, unknown> {
  if (metric.length > 255 || metric.includes('\0') || !metric.isWellFormed())
    throw invalidField('metric', 'expected up to 255 characters')
  const wrong = () => InvalidRequest({ problem: 'payload: expected a number, and perhaps its unit, such as 47 or 47%' })
  if (payload.length > plainBytesMax || !isUtf8(payload)) throw wrong()
  const [, source, unit = ''] = payload.toString('utf8').trim().match(plain) ?? []
  if (source === undefined || unit.includes('\0')) throw wrong()
  const value = Number(source)
  if (!Number.isFinite(value)) throw wrong()
  return { [`${metric}-value`]: value, [`${metric}-unit`]: unit === '' ? 'number' : unit }
}

const nothing = {}
const toNothing = () => nothing

export function dataCollection(attached: Attached, enriched: Enrichment, tell: TellSamples): Extension {
  /** One status for the batch, and none before everybody is done with the message. */
  async function toAll(message: DeviceMessage, samples: unknown[], enriching: unknown[] | Promise<unknown[]>) {
    const whole = await enriching
    const outcomes = await Promise.allSettled(attached.receivers.map((receiver) => receiver.collect(message, whole)))
    const failure = outcomes.find((outcome) => outcome.status === 'rejected')
    if (failure) throw failure.reason
    // What was refused is told to nobody. Who fails here sends again, which stores the same once more.
    if (tell.isHeard()) await tell(message, whole, samples)
    return nothing
  }

  function collect(message: DeviceMessage, samples: unknown[]) {
    const { receivers } = attached
    const isHeard = tell.isHeard()
    if (samples.length === 0 || (receivers.length === 0 && !isHeard)) return nothing
    const whole = enriched(message.endpoint, samples)
    // Mostly there is one who wants them, and nothing to add: no promise is made but that of the commit.
    return receivers.length === 1 && !isHeard && !(whole instanceof Promise)
      ? receivers[0]!.collect(message, whole).then(toNothing)
      : toAll(message, samples, whole)
  }

  return {
    name: 'dcx',
    receive: resources({
      '/json[/<*>]': (message) => collect(message, samplesIn(message.payload)),
      '/plain/<metric>': (message, { metric = '' }) => collect(message, [plainSample(metric, message.payload)]),
    }),
  }
}
