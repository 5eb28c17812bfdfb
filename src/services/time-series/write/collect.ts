/**
 * Turns a device message into rows. If endpoint, plan and sets are cached, which is nearly always, nothing is awaited
 * but the commit, whose promise all messages in it share.
 */
import { currentCause } from '../../../kernel/cause.ts'
import type { DailyQuota } from '../../../kernel/daily-quota.ts'
import type { DeviceMessage } from '../../../kernel/device.ts'
import { createKeyedMutex } from '../../../kernel/keyed-mutex.ts'
import type { CompanionRows, SampleCompanion } from '../contract.ts'
import { SampleRejected } from '../errors.ts'
import type { Numbers } from '../numbers/numbers.ts'
import type { SeriesSet } from '../store/numbers.ts'
import { type Extracted, extract } from './extract.ts'
import type { ExtractionPlans, Plan } from './extraction-plan.ts'
import type { Origin } from './rows.ts'
import type { Writer } from './writer.ts'

export interface CollectDeps {
  plans: ExtractionPlans
  numbers: Numbers
  writer: Writer
  /** Returns whether a service wants the points of this endpoint, which then name their message. */
  isPublished(origin: Origin): boolean
  companion?(): SampleCompanion | undefined
  quota: Pick<DailyQuota, 'requireSamples'>
}

const resolvedPromise = Promise.resolve()

function extractAll(plan: Plan, samples: unknown[], sampleTime: number | undefined): Extracted[] {
  const extractedSamples: Extracted[] = []
  for (let index = 0; index < samples.length; index++) {
    const extracted = extract(plan, samples[index])
    if ('problem' in extracted) throw sampleRejected(index, extracted.problem)
    extracted.at ??= sampleTime
    if (extracted.values.length > 0) extractedSamples.push(extracted)
  }
  return extractedSamples
}

export function createCollect({ plans, numbers, writer, isPublished, companion, quota }: CollectDeps) {
  /** Endpoints whose samples wait for a lookup. */
  const lookups = createKeyedMutex()

  /** Adds the samples after the lookup; later samples of the same endpoint come after them. */
  function afterLookup(
    origin: Origin,
    samples: unknown[],
    receivedAt: number,
    companionRows: CompanionRows | undefined,
    sampleTime: number | undefined,
  ): Promise<void> {
    const added = lookups.run(origin.endpointId, () =>
      lookUpAndAdd(origin, samples, receivedAt, companionRows, sampleTime),
    )
    return added.then(({ committed }) => committed)
  }

  async function lookUpAndAdd(
    origin: Origin,
    samples: unknown[],
    receivedAt: number,
    companionRows: CompanionRows | undefined,
    sampleTime: number | undefined,
  ) {
    const extractedSamples = extractAll(await plans.planOf(origin), samples, sampleTime)
    if (extractedSamples.length === 0) return { committed: addOnlyCompanionRows(companionRows) }
    const endpointNo = await numbers.endpointNo(origin)
    const sets = await numbers.allSetsOf(
      origin,
      extractedSamples.map(({ fields }) => fields),
    )
    return { committed: add(origin, endpointNo, receivedAt, extractedSamples, sets, companionRows) }
  }

  /** A sample without values has no row, but its companion rows are stored. */
  function addOnlyCompanionRows(companionRows: CompanionRows | undefined): Promise<void> {
    if (!companionRows) return resolvedPromise
    writer.current().addCompanionRows(companionRows)
    return writer.committed()
  }

  function add(
    origin: Origin,
    endpointNo: number,
    receivedAt: number,
    all: Extracted[],
    sets: SeriesSet[][],
    companionRows: CompanionRows | undefined,
  ) {
    const rows = writer.current()
    if (companionRows) rows.addCompanionRows(companionRows)
    for (let index = 0; index < all.length; index++) {
      const { at, values } = all[index]!
      const time = at ?? writer.timeOfArrival(endpointNo, receivedAt)
      rows.add(endpointNo, time, at === undefined, sets[index]!, values, origin)
    }
    return writer.committed()
  }

  function collect(message: DeviceMessage, samples: unknown[], companionRows?: CompanionRows): Promise<void> {
    const { endpoint, correlationId, cause = currentCause() } = message
    const origin: Origin = isPublished(endpoint) ? { ...endpoint, cause, messageId: correlationId } : endpoint
    const receivedAt = message.receivedAt.getTime()
    const sampleTime = message.sampleTime?.getTime()
    if (lookups.isBusy(origin.endpointId)) return afterLookup(origin, samples, receivedAt, companionRows, sampleTime)
    const plan = plans.planOf(origin)
    const endpointNo = numbers.endpointNo(origin)
    if (plan instanceof Promise || typeof endpointNo !== 'number') {
      if (typeof endpointNo !== 'number') endpointNo.catch(() => {})
      return afterLookup(origin, samples, receivedAt, companionRows, sampleTime)
    }
    const extractedSamples = extractAll(plan, samples, sampleTime)
    if (extractedSamples.length === 0) return addOnlyCompanionRows(companionRows)
    const sets: SeriesSet[][] = []
    for (let index = 0; index < extractedSamples.length; index++) {
      const sampleSets = numbers.setsOf(origin, extractedSamples[index]!.fields)
      if (sampleSets instanceof Promise) {
        sampleSets.catch(() => {})
        return afterLookup(origin, samples, receivedAt, companionRows, sampleTime)
      }
      sets.push(sampleSets)
    }
    return add(origin, endpointNo, receivedAt, extractedSamples, sets, companionRows)
  }

  return (message: DeviceMessage, samples: unknown[]): Promise<void> => {
    try {
      quota.requireSamples(message.endpoint.tenantId, message.payload.length)
      const prepared = companion?.()?.prepare(message, samples)
      if (prepared) return prepared.then((rows) => collect(message, samples, rows))
      return collect(message, samples)
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

function sampleRejected(index: number, problem: string) {
  const [field] = problem.split(':', 1)
  return SampleRejected({ sample: index + 1, problem }, { fields: { [`${index}.${field}`]: [problem] } })
}
