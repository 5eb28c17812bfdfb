/**
 * Creates jobs over endpoints: selects the endpoints with the permissions of the caller, and stores the task with the list of endpoints.
 */
import { creatorOf } from '../../kernel/bulk/types.ts'
import type { ConcurrencyLimit } from '../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../kernel/contract.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { invalidField, type PlatformError } from '../../kernel/errors.ts'
import { timeOf, timeText } from '../../kernel/times.ts'
import type {
  EndpointConditions,
  EndpointWork,
  Register,
  SelectedEndpoints,
  TaskEndpoint,
} from '../register/contract.ts'
import { TooManyJobs } from './errors.ts'

export interface JobRequest {
  select: EndpointConditions & { all?: true }
  preview?: boolean
}

/**
 * Samples of the selection, which users see in a preview: the first endpoints that the job changes, the number of endpoints that the
 * caller may not change, and the first of these.
 */
export interface Samples {
  samples: string[]
  refused: number
  refusedSamples: { endpointId: string; reason: string }[]
}

export interface CreateDeps {
  kit: Pick<Kit, 'db' | 'bulk' | 'now'>
  register: Pick<Register, 'selectEndpoints'>
  selections: ConcurrencyLimit
}

const endpointsMax = 1_000_000
const samplesMax = 10
/** Maximum number of jobs of one tenant that have not ended. They are limited because each stores its list of endpoints. */
export const openJobsMax = 50

export async function createJob<P extends object>(
  { kit, register, selections }: CreateDeps,
  ctx: Ctx,
  work: EndpointWork<P>,
  { select, preview = false }: JobRequest,
  parameters: P,
): Promise<{ taskId: string } & Samples> {
  const { tenantId, caller } = ctx
  const { type, scope } = work
  const data = await work.dataOf(ctx, parameters)
  const readPages = register.selectEndpoints(ctx, conditionsOf(select, kit.now()), { scope, max: endpointsMax })
  const store = () =>
    kit.db.tx(async (sql) => {
      if ((await kit.bulk.count(sql, { tenantId, states: ['prepared', 'waiting', 'running'] })) >= openJobsMax)
        throw TooManyJobs({ limit: openJobsMax })
      const { summary, pages } = summarized(readPages(sql))
      // `start` stores the data after the items. Therefore `withApplication` can add the application, which is known only after the last
      // item.
      const task = { tenantId, createdBy: creatorOf(caller), data: { ...data } }
      const taskId = await kit.bulk.start(sql, type, task, withApplication(pages, summary, task.data), {
        prepared: preview,
      })
      const { samples, refused, refusedSamples } = summary
      return { taskId, samples, refused, refusedSamples }
    })
  return await selections.run(tenantId, store, ctx)
}

/**
 * Returns the conditions of a selection. A selection without conditions selects every endpoint, so it must contain `all`. Relative times
 * become absolute, because an export reads its conditions again for each part.
 */
export function conditionsOf({ all, ...conditions }: JobRequest['select'], now: Date): EndpointConditions {
  const isEmpty = Object.values(conditions).every(
    (value) => value === undefined || value === '' || (typeof value === 'object' && Object.keys(value).length === 0),
  )
  if (isEmpty && !all) throw invalidField('select', 'expected at least one condition, or all: true for every endpoint')
  if (!isEmpty && all) throw invalidField('select', 'expected either conditions or all')
  const times = (['activeAfter', 'activeBefore'] as const).flatMap((field) => {
    const text = conditions[field]
    if (text === undefined) return []
    const time = timeOf(text, now)
    if (time === undefined) throw invalidField(field, `expected ${timeText}`)
    return [[field, new Date(time).toISOString()]]
  })
  return { ...conditions, ...Object.fromEntries(times) }
}

interface Summary extends Samples {
  accepted: number
  applicationNames: Set<string>
  refusal: PlatformError | undefined
}

function summarized(pages: AsyncIterable<SelectedEndpoints>) {
  const summary: Summary = {
    accepted: 0,
    samples: [],
    refused: 0,
    refusedSamples: [],
    applicationNames: new Set(),
    refusal: undefined,
  }
  async function* itemsOf(): AsyncGenerator<TaskEndpoint[]> {
    for await (const { items, applicationNames, refusal } of pages) {
      summary.refusal ??= refusal
      for (const name of applicationNames) summary.applicationNames.add(name)
      for (const item of items) addTo(summary, item)
      yield items
    }
  }
  return { summary, pages: itemsOf() }
}

function addTo(summary: Summary, item: TaskEndpoint) {
  const { endpointId } = item
  if ('refused' in item) {
    summary.refused++
    if (summary.refusedSamples.length < samplesMax) summary.refusedSamples.push({ endpointId, reason: item.refused })
  } else {
    summary.accepted++
    if (summary.samples.length < samplesMax) summary.samples.push(endpointId)
  }
}

/** Yields the items. At the end, adds the application to the data if there is only one, or throws if the caller may change no endpoint. */
async function* withApplication(
  items: AsyncGenerator<TaskEndpoint[]>,
  summary: Summary,
  data: { applicationName?: string },
) {
  yield* items
  if (summary.accepted === 0 && summary.refusal) throw summary.refusal
  const [applicationName, ...others] = summary.applicationNames
  if (applicationName !== undefined && others.length === 0) data.applicationName = applicationName
}
