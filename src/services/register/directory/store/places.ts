/** Stores the places of endpoints and, for each cell of the grids, the number of its endpoints and the sums of their coordinates. */
import type { Fragment, Sql } from '../../../../kernel/db.ts'
import type { Place } from '../document.ts'
import { bandLevel, type CellRange, cellOf, keptLevels, rowOf } from '../grid.ts'
import type { Scope } from '../query.ts'
import { singlesSql } from './candidates.ts'
import type { EndpointKey } from './documents.ts'

export interface Cluster {
  /** Cell of the grid. */
  x: number
  y: number
  count: number
  /** Sums of the latitudes and longitudes, in millionths of a degree. */
  latitudes: number
  longitudes: number
  /** Sum of the numbers (`seq`) of the endpoints. It is used only if the cluster has one endpoint, whose number it then is. */
  seqs: number
}

export type PlacedEndpoint = EndpointKey & Place

/** Replaces places, and updates the sums of the cells by the differences. */
export async function replacePlaces(sql: Sql, removed: PlacedEndpoint[], added: PlacedEndpoint[]) {
  const columns = sql`p("tenantId" text, "applicationName" text, band integer, longitude integer, latitude integer, seq bigint)`
  const rows = (places: PlacedEndpoint[]) =>
    sql.json(places.map((place) => ({ ...place, band: rowOf(place.latitude, bandLevel) })))
  if (removed.length > 0)
    await sql`
      delete from register.places s using jsonb_to_recordset(${rows(removed)}) as ${columns}
      where s.tenant_id = p."tenantId" and s.application_name = p."applicationName" and s.band = p.band
        and s.longitude = p.longitude and s.latitude = p.latitude and s.seq = p.seq`
  if (added.length > 0)
    await sql`
      insert into register.places (tenant_id, application_name, band, longitude, latitude, seq)
      select "tenantId", "applicationName", band, longitude, latitude, seq from jsonb_to_recordset(${rows(added)}) as ${columns}
      on conflict do nothing`
  await addToCells(sql, differencesOf(removed, added))
}

type CellDifference = Cluster & { tenantId: string; applicationName: string; level: number }

function differencesOf(removed: PlacedEndpoint[], added: PlacedEndpoint[]): CellDifference[] {
  const byCell = new Map<string, CellDifference>()
  for (const [places, sign] of [[removed, -1] as const, [added, 1] as const])
    for (const { tenantId, applicationName, seq, ...place } of places)
      for (const level of keptLevels) {
        const { x, y } = cellOf(place, level)
        const key = JSON.stringify([tenantId, applicationName, level, y, x])
        const none = { tenantId, applicationName, level, y, x, count: 0, latitudes: 0, longitudes: 0, seqs: 0 }
        const sum = byCell.get(key) ?? none
        sum.count += sign
        sum.latitudes += sign * place.latitude
        sum.longitudes += sign * place.longitude
        sum.seqs += sign * seq
        byCell.set(key, sum)
      }
  return [...byCell.values()].filter(
    (sum) => sum.count !== 0 || sum.latitudes !== 0 || sum.longitudes !== 0 || sum.seqs !== 0,
  )
}

async function addToCells(sql: Sql, differences: CellDifference[]) {
  if (differences.length === 0) return
  const columns = sql`c("tenantId" text, "applicationName" text, level smallint, y integer, x integer, count bigint, latitudes bigint,
    longitudes bigint, seqs bigint)`
  await sql`
    insert into register.place_cells as known (tenant_id, application_name, level, y, x, count, latitudes, longitudes, seqs)
    select "tenantId", "applicationName", level, y, x, count, latitudes, longitudes, seqs
    from jsonb_to_recordset(${sql.json(differences)}) as ${columns}
    on conflict (tenant_id, application_name, level, y, x) do update set count = known.count + excluded.count,
      latitudes = known.latitudes + excluded.latitudes, longitudes = known.longitudes + excluded.longitudes,
      seqs = known.seqs + excluded.seqs`
  await sql`
    delete from register.place_cells s using jsonb_to_recordset(${sql.json(differences)}) as ${columns}
    where s.tenant_id = c."tenantId" and s.application_name = c."applicationName" and s.level = c.level and s.y = c.y
      and s.x = c.x and s.count = 0`
}

/** Sums the stored cells of a range to cells that are `2^coarser` times as wide. */
export async function findKeptCells(
  sql: Sql,
  scope: Scope,
  { x0, x1, y0, y1, level, coarser }: CellRange & { level: number; coarser: number },
): Promise<Cluster[]> {
  if (scope.applicationNames.length === 0) return []
  return await sql<Cluster[]>`
    select part.x >> ${coarser}::integer as x, part.y >> ${coarser}::integer as y, ${sumsSql(sql)}
    from unnest(${scope.applicationNames}::text[]) as application(name)
      cross join generate_series(${y0}::integer, ${y1}::integer) as band(y) cross join lateral (
      select c.x, c.y, c.count, c.latitudes, c.longitudes, c.seqs from register.place_cells c
      where c.tenant_id = ${scope.tenantId} and c.application_name = application.name and c.level = ${level} and c.y = band.y
        and c.x between ${x0} and ${x1} offset 0) part
    group by 1, 2`
}

const sumsSql = (sql: Sql): Fragment => sql`sum(part.count)::bigint as count, sum(part.latitudes)::bigint as latitudes,
  sum(part.longitudes)::bigint as longitudes, sum(part.seqs)::bigint as seqs`

/** Bounds in millionths of a degree. Both ends are included. */
export interface Area {
  west: number
  east: number
  south: number
  north: number
}

/** Counts the places of an area by the cells of a level. Returns undefined if there are more than `limit` places. */
export async function countPlaces(
  sql: Sql,
  scope: Scope,
  area: Area,
  level: number,
  limit: number,
): Promise<Cluster[] | undefined> {
  if (scope.applicationNames.length === 0) return []
  const bands = { from: rowOf(area.south, bandLevel), to: rowOf(area.north, bandLevel) }
  const rows = await sql<(Cluster & { counted: number })[]>`
    with found as materialized (
      select part.latitude, part.longitude, part.seq from unnest(${scope.applicationNames}::text[]) as application(name)
        cross join generate_series(${bands.from}::integer, ${bands.to}::integer) as band(y) cross join lateral (
        select p.latitude, p.longitude, p.seq from register.places p
        where p.tenant_id = ${scope.tenantId} and p.application_name = application.name and p.band = band.y
          and p.longitude between ${area.west} and ${area.east} and p.latitude between ${area.south} and ${area.north} offset 0) part
      limit ${limit + 1})
    select part.x, part.y, ${sumsSql(sql)}, (select count(*) from found) as counted from (
      select ${cellSql(sql, sql`longitude`, 360_000_000, level)} as x, ${cellSql(sql, sql`latitude`, 180_000_000, level)} as y,
        1::bigint as count, latitude as latitudes, longitude as longitudes, seq as seqs from found) part
    group by 1, 2`
  return (rows[0]?.counted ?? 0) > limit ? undefined : rows
}

/** Computes in SQL the same cell as `columnOf` and `rowOf` (grid.ts). */
const cellSql = (sql: Sql, value: Fragment, size: number, level: number): Fragment => sql`
  least((${value}::bigint + ${size / 2}::bigint) * ${2 ** level}::bigint / ${size}::bigint, ${2 ** level - 1}::bigint)::integer`

/** Finds the places of the single endpoints of the scope. */
export async function findSinglePlaces(sql: Sql, { tenantId, singles }: Scope): Promise<(Place & { seq: number })[]> {
  if (!singles) return []
  return await sql<(Place & { seq: number })[]>`
    select d.seq, d.latitude, d.longitude from register.endpoints e
      join register.documents d on d.tenant_id = e.tenant_id and d.application_name = e.application_name and d.seq = e.seq
    where ${singlesSql(sql, tenantId, singles)} and d.latitude is not null`
}

export async function findNames(
  sql: Sql,
  tenantId: string,
  seqs: number[],
): Promise<{ seq: number; endpointId: string; name: string | null }[]> {
  if (seqs.length === 0) return []
  return await sql<{ seq: number; endpointId: string; name: string | null }[]>`
    select seq, endpoint_id, case when jsonb_typeof(metadata -> 'name') = 'string' then left(metadata ->> 'name', 200) end as name
    from register.endpoints where tenant_id = ${tenantId} and seq = any(${seqs}::bigint[])`
}

export type ReportedPlace = Place & { endpointId: string; at: Date }

/**
 * Stores places that time series reported, if the reports are newer than the stored reports, and enqueues endpoints whose place has changed.
 * The time of a report of the same place is stored only if it is at least a minute newer, so that endpoints that do not move cost few writes.
 */
export async function saveReportedPlaces(sql: Sql, places: ReportedPlace[]) {
  await sql`
    with given as (
      select e.tenant_id, e.application_name, e.seq, g.latitude, g.longitude, g.at
      from jsonb_to_recordset(${sql.json(places)}) as g("endpointId" text, latitude integer, longitude integer, at timestamptz)
        join register.endpoints e on e.endpoint_id = g."endpointId"
        left join register.reported_places r
          on r.tenant_id = e.tenant_id and r.application_name = e.application_name and r.seq = e.seq
      where r.seq is null or (r.latitude, r.longitude) <> (g.latitude, g.longitude) or r.at <= g.at - interval '1 minute'
      order by e.seq),
    saved as (
      insert into register.reported_places as known (tenant_id, application_name, seq, latitude, longitude, at, moved_at)
      select tenant_id, application_name, seq, latitude, longitude, at, at from given
      on conflict (tenant_id, application_name, seq) do update
        set latitude = excluded.latitude, longitude = excluded.longitude, at = excluded.at, moved_at = case
          when (known.latitude, known.longitude) = (excluded.latitude, excluded.longitude) then known.moved_at
          else excluded.at end
        where known.at < excluded.at
      returning tenant_id, application_name, seq, moved_at = at as is_moved)
    insert into register.directory_queue (tenant_id, application_name, seq, whole)
    select tenant_id, application_name, seq, true from saved where is_moved`
}
