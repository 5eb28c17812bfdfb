/** The directory: lists, counts and places of endpoints, for users. */

import { createCache } from '../../../kernel/cache.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { Applications } from '../../applications/contract.ts'
import type { Register } from '../contract.ts'
import { EndpointUnregistered } from '../events.ts'
import type { FilterIndex } from '../filters/filter-index.ts'
import {
  type Counts,
  type CountsRequest,
  countDirectory,
  createCountConcurrency,
  defaultCountLimits,
} from './counts.ts'
import { createDeferredWrites } from './deferred-writes.ts'
import { toPlace } from './document.ts'
import { createIndexing, type Indexing } from './indexing.ts'
import { type DirectoryPage, type DirectoryRequest, defaultLimits, listDirectory } from './list.ts'
import { listPlaces, type Places, type PlacesRequest } from './places.ts'
import { createDirectorySettings, createHasKey } from './settings.ts'
import { saveActivity } from './store/documents.ts'
import { type ReportedPlace, saveReportedPlaces } from './store/places.ts'
import { createTextSample } from './text-sample.ts'

export interface Directory {
  list(ctx: Ctx, request: DirectoryRequest): Promise<DirectoryPage>
  counts(ctx: Ctx, request: CountsRequest): Promise<Counts>
  places(ctx: Ctx, request: PlacesRequest): Promise<Places>
  indexing: Indexing
  noteActivity: Register['noteActivity']
  placeSeriesOf: Register['placeSeriesOf']
  reportPlace: Register['reportPlace']
  /** Stores the activity and the places that were reported and are not stored yet. */
  flush(): Promise<void>
  now: Clock
}

/** Maximum number of endpoints whose newest report of a place is remembered. */
const reportersMax = 50_000

export function createDirectory(kit: Kit, applications: Applications, filters: FilterIndex): Directory {
  const { db } = kit
  const settingsOf = createDirectorySettings(applications)
  const activity = createDeferredWrites<{ endpointId: string; at: Date }>(kit, (values) => saveActivity(db.sql, values))
  const places = createDeferredWrites<ReportedPlace>(kit, (values) => saveReportedPlaces(db.sql, values))
  const sampleOf = createTextSample(db)
  /**
   * Times of the newest reports, in milliseconds since 1970. They may be newer than the stored times, and show that another report is late.
   * A report that is late by less than a minute and arrives at another node is not recognized.
   */
  const newestReports = createCache<number>({ max: reportersMax, bus: kit.bus })
  newestReports.dropOn(EndpointUnregistered, ({ endpointIds }) => endpointIds)
  const listDeps = { db, filters, sampleOf, isIndexed: createHasKey(applications, 'keys'), limits: defaultLimits }
  const isCounted = createHasKey(applications, 'countedKeys')
  const countDeps = {
    db,
    filters,
    sampleOf,
    isCounted,
    limits: defaultCountLimits,
    concurrency: createCountConcurrency(),
  }
  return {
    list: (ctx, request) => listDirectory(listDeps, ctx, request),
    counts: (ctx, request) => countDirectory(countDeps, ctx, request),
    places: (ctx, request) => listPlaces({ db }, ctx, request),
    indexing: createIndexing(kit, settingsOf),
    noteActivity: (endpointId, at) => activity.add({ endpointId, at }),
    placeSeriesOf(version) {
      const settings = settingsOf(version)
      return settings instanceof Promise ? settings.then(({ series }) => series) : settings.series
    },
    reportPlace({ endpointId, at, ...degrees }) {
      const place = toPlace(degrees.latitude, degrees.longitude)
      if (!place || at.getTime() < (newestReports.get(endpointId) ?? Number.NEGATIVE_INFINITY)) return
      newestReports.set(endpointId, at.getTime())
      places.add({ endpointId, at, ...place })
    },
    async flush() {
      await Promise.all([activity.flush(), places.flush()])
    },
    now: kit.now,
  }
}
