/** Publishes stored points within the transaction that stores them, if a service handles the event. */
import type { Bus } from '../../../kernel/bus.ts'
import type { Sql } from '../../../kernel/db.ts'
import { PointsStored, type StoredPoint } from '../events.ts'
import { namesOf } from '../numbers/field.ts'
import type { Numbers } from '../numbers/numbers.ts'
import type { Value } from '../points.ts'
import type { Rows } from './rows.ts'

const pointsPerEvent = 500

export async function publishPoints(bus: Bus, sql: Sql, rows: Rows, numbers: Numbers) {
  const byApplication = new Map<string, { tenantId: string; applicationName: string; points: StoredPoint[] }>()
  for (let row = 0; row < rows.count; row++) {
    const origin = rows.origins[row]!
    if (origin.messageId === undefined) continue
    const { tenantId, applicationName } = origin
    let event = byApplication.get(applicationName)
    if (!event) {
      event = { tenantId, applicationName, points: [] }
      byApplication.set(applicationName, event)
    }
    event.points.push(...pointsOf(rows, row, numbers))
  }
  const events: { tenantId: string; applicationName: string; points: StoredPoint[] }[] = []
  for (const { points, ...application } of byApplication.values())
    for (let from = 0; from < points.length; from += pointsPerEvent)
      events.push({ ...application, points: points.slice(from, from + pointsPerEvent) })
  await bus.publishAll(sql, PointsStored, events)
}

/** Returns one point for each series of a row. */
export function pointsOf(rows: Rows, row: number, numbers: Numbers): StoredPoint[] {
  const { endpointId, versionName, messageId, cause } = rows.origins[row]!
  const timestamp = new Date(rows.times[row]!).toISOString()
  const ingestionTimestamp = new Date(rows.writtenTimes[row]! / 1000).toISOString()
  const bySeries = new Map<string, [valueName: string, value: Value][]>()
  for (const [index, field] of numbers.fieldsOf(rows.sets[row]!).entries()) {
    const [seriesName, valueName] = namesOf(field)
    const entry: [string, Value] = [valueName, rows.values[row]![index]!]
    const entries = bySeries.get(seriesName)
    if (entries) entries.push(entry)
    else bySeries.set(seriesName, [entry])
  }
  return Array.from(bySeries, ([seriesName, entries]) => ({
    endpointId,
    versionName,
    seriesName,
    timestamp,
    ingestionTimestamp,
    ...(cause !== undefined && { cause }),
    ...(messageId !== undefined && { messageId }),
    values: Object.fromEntries(entries),
  }))
}
