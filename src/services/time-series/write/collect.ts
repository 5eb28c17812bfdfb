/**
 * Converts a device message to rows. If the number of the endpoint, the extraction plan and the sets of series are cached, which is nearly
 * always the case, only the commit is awaited. All messages in a commit share its promise.
 */
import { currentCause } from '../../../kernel/cause.ts'
import type { DailyQuota } from '../../../kernel/daily-quota.ts'
import type { DeviceMessage } from '../../../kernel/device.ts'
import { createKeyedMutex } from '../../../kernel/keyed-mutex.ts'
import type { CompanionRows, ReceivedMessage, SampleCompanion } from '../contract.ts'
import { SampleRejected } from '../errors.ts'
import type { Numbers } from '../numbers/numbers.ts'
import type { SeriesSet } from '../store/numbers.ts'
import { type Extracted, extract } from './extract.ts'
import type { ExtractionPlans, Plan } from './extraction-plan.ts'
import type { Origin, Rows } from './rows.ts'
import type { Lane, Writer } from './writer.ts'

export interface CollectDeps {
  plans: ExtractionPlans
  numbers: Numbers
  writer: Writer
  /** Returns whether a service handles the points of this endpoint. Published points contain the id of their message. */
  isPublished(origin: Origin): boolean
  companion?(): SampleCompanion | undefined
  quota: Pick<DailyQuota, 'requireSamples'>
}

const resolvedPromise = Promise.resolve()

/** Data that is stored with the samples of a message. */
interface Extras {
  companionRows?: CompanionRows | undefined
  received?: ReceivedMessage | undefined
}

const noExtras: Extras = {}

function addExtras(rows: Rows, { companionRows, received }: Extras) {
  if (companionRows) rows.addCompanionRows(companionRows)
  if (received) rows.addReceived(received)
}

const laneOf = ({ messageId }: Origin, { received }: Extras): Lane =>
  received || messageId !== undefined ? 'published' : 'plain'

function extractAll(plan: Plan, samples: unknown[], sampleTime: number | undefined): Extracted[] {
  const extractedSamples: Extracted[] = []
  for (let index = 0; index < samples.length; index++) {
    const extracted = extract(plan, samples[index], sampleTime)
    if ('problem' in extracted) throw sampleRejected(index, extracted.problem)
    if (extracted.values.length > 0) extractedSamples.push(extracted)
  }
  return extractedSamples
}

export function createCollect({ plans, numbers, writer, isPublished, companion, quota }: CollectDeps) {
  /** Endpoints whose samples wait for a lookup. */
  const lookups = createKeyedMutex()

  /** Adds the samples after the lookup. Later samples of the same endpoint are added after them. */
  function afterLookup(
    origin: Origin,
    samples: unknown[],
    receivedAt: number,
    extras: Extras,
    sampleTime: number | undefined,
  ): Promise<void> {
    const added = lookups.run(origin.endpointId, () => lookUpAndAdd(origin, samples, receivedAt, extras, sampleTime))
    return added.then(({ committed }) => committed)
  }

  async function lookUpAndAdd(
    origin: Origin,
    samples: unknown[],
    receivedAt: number,
    extras: Extras,
    sampleTime: number | undefined,
  ) {
    const extractedSamples = extractAll(await plans.planOf(origin), samples, sampleTime)
    if (extractedSamples.length === 0) return { committed: addOnlyExtras(origin, extras) }
    const endpointNo = await numbers.endpointNo(origin)
    if (laneOf(origin, extras) === 'published') await writer.plainRowsSettled(endpointNo)
    const sets = await numbers.allSetsOf(
      origin,
      extractedSamples.map(({ fields }) => fields),
    )
    return { committed: add(origin, endpointNo, receivedAt, extractedSamples, sets, extras) }
  }

  /** Adds the extras of a message without values: it has no rows, but its companion rows are stored and its samples published. */
  function addOnlyExtras(origin: Origin, extras: Extras): Promise<void> {
    if (!extras.companionRows && !extras.received) return resolvedPromise
    addExtras(writer.current(laneOf(origin, extras), origin.endpointId), extras)
    return writer.committed()
  }

  function add(
    origin: Origin,
    endpointNo: number,
    receivedAt: number,
    all: Extracted[],
    sets: SeriesSet[][],
    extras: Extras,
  ) {
    const rows = writer.current(laneOf(origin, extras), origin.endpointId)
    addExtras(rows, extras)
    for (let index = 0; index < all.length; index++) {
      const { at, values } = all[index]!
      const time = at ?? writer.timeOfArrival(endpointNo, receivedAt)
      rows.add(endpointNo, time, at === undefined, sets[index]!, values, origin)
    }
    return writer.committed()
  }

  function collect(message: DeviceMessage, samples: unknown[], extras: Extras): Promise<void> {
    const { endpoint, correlationId, cause = currentCause() } = message
    const origin: Origin = isPublished(endpoint) ? { ...endpoint, cause, messageId: correlationId } : endpoint
    const receivedAt = message.receivedAt.getTime()
    const sampleTime = message.sampleTime?.getTime()
    if (lookups.isBusy(origin.endpointId)) return afterLookup(origin, samples, receivedAt, extras, sampleTime)
    const plan = plans.planOf(origin)
    const endpointNo = numbers.endpointNo(origin)
    if (plan instanceof Promise || typeof endpointNo !== 'number') {
      if (typeof endpointNo !== 'number') endpointNo.catch(() => {})
      return afterLookup(origin, samples, receivedAt, extras, sampleTime)
    }
    if (laneOf(origin, extras) === 'published' && writer.plainRowsSettled(endpointNo))
      return afterLookup(origin, samples, receivedAt, extras, sampleTime)
    const extractedSamples = extractAll(plan, samples, sampleTime)
    if (extractedSamples.length === 0) return addOnlyExtras(origin, extras)
    const sets: SeriesSet[][] = []
    for (let index = 0; index < extractedSamples.length; index++) {
      const sampleSets = numbers.setsOf(origin, extractedSamples[index]!.fields)
      if (sampleSets instanceof Promise) {
        sampleSets.catch(() => {})
        return afterLookup(origin, samples, receivedAt, extras, sampleTime)
      }
      sets.push(sampleSets)
    }
    return add(origin, endpointNo, receivedAt, extractedSamples, sets, extras)
  }

  return (message: DeviceMessage, samples: unknown[], received?: ReceivedMessage): Promise<void> => {
    try {
      quota.requireSamples(message.endpoint.tenantId, message.payload.length)
      const prepared = companion?.()?.prepare(message, samples)
      if (prepared) return prepared.then((companionRows) => collect(message, samples, { companionRows, received }))
      return collect(message, samples, received ? { received } : noExtras)
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

function sampleRejected(index: number, problem: string) {
  const [field] = problem.split(':', 1)
  return SampleRejected({ sample: index + 1, problem }, { fields: { [`${index}.${field}`]: [problem] } })
}
