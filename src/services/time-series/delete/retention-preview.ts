/** Computes what a retention would delete, for callers that may read the configuration. */
import type { Clock } from '../../../kernel/clock.ts'
import type { ConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import { authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Db } from '../../../kernel/db.ts'
import { onResource } from '../../../kernel/permissions.ts'
import type { Applications } from '../../applications/contract.ts'
import { applicationResource } from '../../register/contract.ts'
import type { RetentionConfiguration } from '../configuration.ts'
import type { RetentionEffect, TimeSeries } from '../contract.ts'
import { NoApplication } from '../errors.ts'
import type { Numbers } from '../numbers/numbers.ts'
import { dayMs } from '../pack/chunk-builder.ts'
import { type Application, endpointNosOf, findSeries } from '../store/numbers.ts'
import * as store from '../store/retention.ts'
import { configuredRetention } from './retention.ts'
import { limitsOf, type RetentionLimit } from './retention-limits.ts'

export interface RetentionPreview {
  /** Previews the proposed retention. Without a proposal, previews the configured retention. */
  previewFor(ctx: Ctx, applicationName: string, proposed?: RetentionConfiguration): Promise<RetentionEffect>
  preview: TimeSeries['previewRetention']
}

interface Deps {
  db: Db
  readLimit: ConcurrencyLimit
  numbers: Numbers
  applications: Applications
  now: Clock
}

const access = { read: 'application:read', scope: 'application:timeseries-config:read' }

export function createRetentionPreview(deps: Deps): RetentionPreview {
  return {
    preview: (application, proposed) => previewRetention(deps, application, proposed),
    async previewFor(ctx, applicationName, proposed) {
      const { tenantId } = ctx
      const notFound = () => NoApplication({ applicationName })
      if (!(await deps.applications.exists(ctx, { name: applicationName }))) throw notFound()
      authorizeOrNotFound(ctx, access, onResource(tenantId, applicationResource(applicationName)), notFound)
      return await previewRetention(deps, { tenantId, applicationName }, proposed)
    },
  }
}

interface ExpiredTotals {
  points: number
  unpacked: number
  bytes: number
}

const zero: ExpiredTotals = { points: 0, unpacked: 0, bytes: 0 }

async function previewRetention(
  deps: Deps,
  application: Application,
  proposed?: RetentionConfiguration,
): Promise<RetentionEffect> {
  const { db, readLimit, applications, now } = deps
  const { retention, problems } = proposed
    ? { retention: proposed, problems: [] }
    : await configuredRetention(applications, application)
  const sums = new Map<number, ExpiredTotals>()
  const limits = limitsOf(retention, await findSeries(db.sql, application), now())
  for await (const endpointNos of limits.length > 0 ? endpointNosOf(db, application) : [])
    await readLimit.run(application.tenantId, async () => {
      for (const limit of limits) {
        // Samples are counted before chunks. A point that is packed in between is therefore counted twice rather than not at all.
        await addSamples(deps, endpointNos, limit, sums)
        const seriesIds = limit.series.map(({ seriesId }) => seriesId)
        const packed = await store.sumExpired(db.sql, { endpointNos, seriesIds, firstDay: limit.firstDay })
        for (const { seriesId, points, bytes } of packed) add(sums, seriesId, { points, unpacked: 0, bytes })
      }
    })
  const rows = limits.flatMap(({ days, firstDay, series }) =>
    series.map(({ seriesId, name, valueName }) => ({
      name,
      valueName,
      days,
      before: new Date(firstDay * dayMs),
      ...(sums.get(seriesId) ?? zero),
    })),
  )
  return {
    series: rows.sort((a, b) => (a.name + a.valueName < b.name + b.valueName ? -1 : 1)),
    points: rows.reduce((sum, { points }) => sum + points, 0),
    bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
    problems: problems.map(({ path, problem }) => ({ place: path.join('.'), problem })),
  }
}

/** Adds the number of expired samples that are not packed yet to `sums`. */
async function addSamples(
  { db, numbers }: Deps,
  endpointNos: number[],
  { firstDay, series }: RetentionLimit,
  sums: Map<number, ExpiredTotals>,
) {
  const limitedIds = new Set(series.map(({ seriesId }) => seriesId))
  const sets = await store.countExpiredSamples(db.sql, endpointNos, firstDay * dayMs)
  const seriesOf = await numbers.seriesIdsOf(sets.map(({ setId }) => setId))
  for (const { setId, samples } of sets)
    for (const seriesId of seriesOf.get(setId) ?? [])
      if (limitedIds.has(seriesId)) add(sums, seriesId, { points: samples, unpacked: samples, bytes: 0 })
}

function add(sums: Map<number, ExpiredTotals>, seriesId: number, { points, unpacked, bytes }: ExpiredTotals) {
  const total = sums.get(seriesId) ?? zero
  sums.set(seriesId, {
    points: total.points + points,
    unpacked: total.unpacked + unpacked,
    bytes: total.bytes + bytes,
  })
}
