/**
 * From a message of a device to rows. Where endpoint, plan and sets are known, which is nearly always, nothing is waited for and
 * nothing made but the rows: the promise is that of the commit, shared with everybody in it.
 */
import type { DeviceMessage } from '../../../kernel/device.ts'
import { createKeyedMutex } from '../../../kernel/keyed-mutex.ts'
import { SampleRefused } from '../errors.ts'
import type { Numbers } from '../numbers/numbers.ts'
import type { SeriesSet } from '../store/numbers.ts'
import { type Extracted, extract } from './extract.ts'
import type { ExtractionPlans, Plan } from './extraction-plan.ts'
import type { Origin } from './rows.ts'
import type { Writer } from './writer.ts'

export interface Collecting {
  plans: ExtractionPlans
  numbers: Numbers
  writer: Writer
}

const nothing = Promise.resolve()

export function createCollect({ plans, numbers, writer }: Collecting) {
  function extractAll(plan: Plan, samples: unknown[]): Extracted[] {
    const all: Extracted[] = []
    for (let index = 0; index < samples.length; index++) {
      const extracted = extract(plan, samples[index])
      if ('problem' in extracted) throw refused(index, extracted.problem)
      if (extracted.values.length > 0) all.push(extracted)
    }
    return all
  }

  /** Endpoints whose samples wait until their numbers are known. */
  const waiting = createKeyedMutex()

  /** When it is known; whatever the same endpoint sends meanwhile comes after it. */
  function whenKnown(origin: Origin, samples: unknown[], receivedAt: number): Promise<void> {
    const added = waiting.run(origin.endpointId, () => addWhenKnown(origin, samples, receivedAt))
    return added.then(({ committed }) => committed)
  }

  async function addWhenKnown(origin: Origin, samples: unknown[], receivedAt: number) {
    const all = extractAll(await plans.of(origin), samples)
    if (all.length === 0) return { committed: nothing }
    const endpointNo = await numbers.endpointNo(origin)
    const sets = await numbers.allSetsOf(
      origin,
      all.map(({ fields }) => fields),
    )
    return { committed: add(origin, endpointNo, receivedAt, all, sets) }
  }

  function add(origin: Origin, endpointNo: number, receivedAt: number, all: Extracted[], sets: SeriesSet[][]) {
    const rows = writer.current()
    for (let index = 0; index < all.length; index++) {
      const { at, values } = all[index]!
      const time = at ?? writer.timeOfArrival(endpointNo, receivedAt)
      rows.add(endpointNo, time, at === undefined, sets[index]!, values, origin)
    }
    return writer.committed()
  }

  function collect({ endpoint: origin, receivedAt: received }: DeviceMessage, samples: unknown[]): Promise<void> {
    const receivedAt = received.getTime()
    if (waiting.isBusy(origin.endpointId)) return whenKnown(origin, samples, receivedAt)
    const plan = plans.of(origin)
    const endpointNo = numbers.endpointNo(origin)
    if (plan instanceof Promise || typeof endpointNo !== 'number') {
      if (typeof endpointNo !== 'number') endpointNo.catch(() => {})
      return whenKnown(origin, samples, receivedAt)
    }
    const all = extractAll(plan, samples)
    if (all.length === 0) return nothing
    const sets: SeriesSet[][] = []
    for (let index = 0; index < all.length; index++) {
      const found = numbers.setsOf(origin, all[index]!.fields)
      if (found instanceof Promise) {
        found.catch(() => {})
        return whenKnown(origin, samples, receivedAt)
      }
      sets.push(found)
    }
    return add(origin, endpointNo, receivedAt, all, sets)
  }

  return (message: DeviceMessage, samples: unknown[]): Promise<void> => {
    try {
      return collect(message, samples)
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

function refused(index: number, problem: string) {
  const [field] = problem.split(':', 1)
  return SampleRefused({ sample: index + 1, problem }, { fields: { [`${index}.${field}`]: [problem] } })
}
