/** The directory: lists, counts and places of endpoints for people. */
import type { Clock } from '../../../kernel/clock.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { Applications } from '../../applications/contract.ts'
import type { FilterIndex } from '../filters/filter-index.ts'
import { type Activity, createActivity } from './activity.ts'
import {
  type Counts,
  type CountsRequest,
  countDirectory,
  createCountConcurrency,
  defaultCountLimits,
} from './counts.ts'
import { createIndexing, type Indexing } from './indexing.ts'
import { type DirectoryPage, type DirectoryRequest, defaultLimits, listDirectory } from './list.ts'
import { listPlaces, type Places, type PlacesRequest } from './places.ts'
import { createDirectorySettings, createIsIndexed } from './settings.ts'

export interface Directory {
  list(ctx: Ctx, request: DirectoryRequest): Promise<DirectoryPage>
  counts(ctx: Ctx, request: CountsRequest): Promise<Counts>
  places(ctx: Ctx, request: PlacesRequest): Promise<Places>
  indexing: Indexing
  activity: Activity
  now: Clock
}

export function createDirectory(kit: Kit, applications: Applications, filters: FilterIndex): Directory {
  const { db } = kit
  const listDeps = { db, filters, isIndexed: createIsIndexed(applications), limits: defaultLimits }
  const countDeps = { db, filters, limits: defaultCountLimits, concurrency: createCountConcurrency() }
  return {
    list: (ctx, request) => listDirectory(listDeps, ctx, request),
    counts: (ctx, request) => countDirectory(countDeps, ctx, request),
    places: (ctx, request) => listPlaces({ db }, ctx, request),
    indexing: createIndexing(kit, createDirectorySettings(applications)),
    activity: createActivity(kit),
    now: kit.now,
  }
}
