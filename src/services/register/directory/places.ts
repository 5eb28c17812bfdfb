/**
 * Returns the endpoints of a rectangle on the map as clusters. A grid divides the map into cells. The endpoints in one cell form one
 * cluster: their number and their mean position.
 */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Db } from '../../../kernel/db.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { areaOf, cellOf, cellRanges, finer, keptLevelFor, keptLevelMax, levelFor, type Rectangle } from './grid.ts'
import type { Scope } from './query.ts'
import { scopeOf } from './selection.ts'
import * as store from './store/places.ts'

export interface PlacesRequest {
  tenantId: string | undefined
  applicationNames: string[] | undefined
  rectangle: Rectangle
  /** Maximum number of clusters. */
  limit: number
}

export interface PlaceCluster {
  latitude: number
  longitude: number
  count: number
  /** Present only if the cluster is one endpoint. */
  endpointId?: string
  name?: string
}

export interface Places {
  /** Number of endpoints in all clusters. */
  count: number
  content: PlaceCluster[]
}

/** Maximum number of places that are counted one by one. With more places, the stored sums of coarser cells are used instead. */
const countedMax = 50_000

export async function listPlaces({ db }: { db: Db }, ctx: Ctx, request: PlacesRequest): Promise<Places> {
  checkRectangle(request.rectangle)
  const scope = await scopeOf({ db }, ctx, request)
  const level = levelFor(request.rectangle, request.limit)
  const counted =
    keptLevelFor(level) === undefined ? await countedClusters(db, scope, request.rectangle, level) : undefined
  const clusters = counted ?? (await keptClusters(db, scope, request.rectangle, Math.min(level, keptLevelMax)))
  return await describe(db, scope.tenantId, clusters)
}

function checkRectangle({ south, north }: Rectangle) {
  if (north < south) throw invalidField('north', 'expected a latitude that is not less than south')
}

async function keptClusters(db: Db, scope: Scope, rectangle: Rectangle, level: number): Promise<store.Cluster[]> {
  const kept = keptLevelFor(level)!
  const ranges = cellRanges(rectangle, level)
  const parts = await Promise.all(
    ranges.map((range) =>
      store.findKeptCells(db.sql, scope, { ...finer(range, level, kept), level: kept, coarser: kept - level }),
    ),
  )
  return await withSingles(db, scope, rectangle, level, parts.flat())
}

/** Counts places by cell. Returns undefined if there are too many places to count. */
async function countedClusters(
  db: Db,
  scope: Scope,
  rectangle: Rectangle,
  level: number,
): Promise<store.Cluster[] | undefined> {
  const clusters: store.Cluster[] = []
  for (const range of cellRanges(rectangle, level)) {
    const part = await store.countPlaces(db.sql, scope, areaOf(range, level), level, countedMax)
    if (!part) return undefined
    clusters.push(...part)
  }
  return await withSingles(db, scope, rectangle, level, clusters)
}

/** Adds the endpoints that the caller may read by a grant on the single endpoint, not on its application. */
async function withSingles(db: Db, scope: Scope, rectangle: Rectangle, level: number, clusters: store.Cluster[]) {
  if (!scope.singles) return clusters
  const ranges = cellRanges(rectangle, level)
  const byCell = new Map(clusters.map((cluster) => [`${cluster.x} ${cluster.y}`, cluster]))
  for (const { seq, ...place } of await store.findSinglePlaces(db.sql, scope)) {
    const { x, y } = cellOf(place, level)
    if (!ranges.some(({ x0, x1, y0, y1 }) => x >= x0 && x <= x1 && y >= y0 && y <= y1)) continue
    const sum = byCell.get(`${x} ${y}`) ?? { x, y, count: 0, latitudes: 0, longitudes: 0, seqs: 0 }
    sum.count++
    sum.latitudes += place.latitude
    sum.longitudes += place.longitude
    sum.seqs += seq
    byCell.set(`${x} ${y}`, sum)
  }
  return [...byCell.values()]
}

async function describe(db: Db, tenantId: string, clusters: store.Cluster[]): Promise<Places> {
  const alone = clusters.filter(({ count }) => count === 1).map(({ seqs }) => seqs)
  const endpoints = new Map((await store.findNames(db.sql, tenantId, alone)).map((row) => [row.seq, row]))
  // The stored counts include a deleted endpoint until the directory is updated. It has no row any more, so a cluster of this one endpoint
  // is left out.
  const shown = clusters.filter(({ count, seqs }) => count !== 1 || endpoints.has(seqs))
  return {
    count: shown.reduce((sum, { count }) => sum + count, 0),
    content: shown
      .map((cluster) => clusterOf(cluster, cluster.count === 1 ? endpoints.get(cluster.seqs) : undefined))
      .sort((one, other) => other.count - one.count),
  }
}

const degrees = (sum: number, count: number) => Math.round(sum / count) / 1e6

const clusterOf = (
  { count, latitudes, longitudes }: store.Cluster,
  endpoint: { endpointId: string; name: string | null } | undefined,
): PlaceCluster => ({
  latitude: degrees(latitudes, count),
  longitude: degrees(longitudes, count),
  count,
  ...(endpoint && { endpointId: endpoint.endpointId, ...(endpoint.name !== null && { name: endpoint.name }) }),
})
