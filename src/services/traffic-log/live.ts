/** The topics `traffic` and `refusals` of live streams. */
import type { Kit } from '../../kernel/define-service.ts'
import type { HistoryQuery, LiveEvent } from '../../kernel/live/live.ts'
import type { StoredRecord } from './codec/columns.ts'
import type { TrafficRecord } from './contract.ts'
import { findFirst } from './search/search.ts'
import { inSnapshot } from './snapshot.ts'
import { findRefusalsSince, type RefusalRow } from './store/refusals.ts'
import { payloadText, refusalView, textOf } from './views.ts'

export interface TrafficTopics {
  /** Returns the event of a record if a stream needs it. */
  eventOf(record: TrafficRecord, stored: StoredRecord): LiveEvent | undefined
  publishRecords(events: LiveEvent[]): void
  publishRefusals(rows: RefusalRow[]): void
}

/**
 * A stream that resumes gets records from this long before its position, because records that were stored later can have earlier times:
 * records are stored up to 30 s after their time, and the clocks of nodes differ.
 */
const slackSeconds = 35

export function defineTopics({ db, live, now }: Pick<Kit, 'db' | 'live' | 'now'>): TrafficTopics {
  const traffic = live.define({
    name: 'traffic',
    description: 'messages that devices sent and received, as in `traffic.list`.',
    scopes: ['endpoint:read'],
    on: 'endpoint',
    facets: ['versionNames', 'directions', 'extensions'],
    slackSeconds,
    async history({ tenantIds, applicationName, endpointIds, since, limit }) {
      const [tenantId] = tenantIds as [string]
      const filter = {
        tenantId,
        span: { from: since, to: (now().getTime() + 86_400_000) * 1000 },
        visible: applicationName === undefined ? ('all' as const) : ofApplication(applicationName),
        ...(endpointIds && { endpointIds: new Set(endpointIds) }),
      }
      const records = await inSnapshot(db, (sql, deadline) => findFirst(sql, filter, limit + 1, deadline))
      return records.length > limit ? 'too_many' : records.map((record) => trafficEvent(tenantId, record))
    },
  })
  const refusals = live.define({
    name: 'refusals',
    description: 'refused connections and messages of devices, as in `refusals.list`.',
    scopes: ['tenant:refusal:read'],
    on: 'tenant',
    hasEndpoints: true,
    withoutTenant: true,
    facets: ['reasons'],
    slackSeconds,
    async history({ tenantIds, since, limit }: HistoryQuery) {
      const query = { tenantIds, since: new Date(since / 1000), limit: limit + 1 }
      const rows = await findRefusalsSince(db.sql, query)
      return rows.length > limit ? 'too_many' : rows.map(refusalEvent)
    },
  })
  return {
    eventOf: (record, stored) =>
      traffic.isActive() && traffic.isWanted(record) ? trafficEvent(record.tenantId, stored) : undefined,
    publishRecords: traffic.publish,
    publishRefusals(rows) {
      if (refusals.isActive()) refusals.publish(rows.map(refusalEvent))
    },
  }
}

const ofApplication = (applicationName: string) => ({
  applicationNames: new Set([applicationName]),
  endpointIds: new Set<string>(),
  unregistered: new Map<string, number>(),
})

/**
 * Returns the event of a record. The text of the event is built when the event is sent, because a subscription that wants only the newest
 * event sends few events. The payload is copied, because callers reuse its buffer.
 */
function trafficEvent(tenantId: string, record: StoredRecord): LiveEvent {
  const { applicationName, endpointId, outbound, micros, correlationId, versionName, extension } = record
  const id = `${micros}-${outbound ? 'o' : 'i'}-${correlationId}`
  const payload = payloadText(record)
  return {
    tenantId,
    applicationName,
    endpointId,
    id,
    facets: facetsOf(versionName, outbound ? 'OUTBOUND' : 'INBOUND', extension),
    text: () =>
      `{"id":${JSON.stringify(id)},"applicationName":${JSON.stringify(applicationName)},${textOf(tenantId, record, payload).slice(1)}`,
  }
}

const facets = new Map<string, Readonly<Record<string, string>>>()
const facetsMax = 1000

/** Returns the facets of an event. Events with the same facets share one object. */
function facetsOf(versionNames: string, directions: string, extensions: string): Readonly<Record<string, string>> {
  const key = `${directions} ${extensions} ${versionNames}`
  const known = facets.get(key)
  if (known) return known
  if (facets.size >= facetsMax) facets.clear()
  const made = { versionNames, directions, extensions }
  facets.set(key, made)
  return made
}

function refusalEvent(row: RefusalRow): LiveEvent {
  const { createdAt, tenantId, reason, address, endpointId } = row
  const id = [createdAt.getTime(), reason, address ?? '', endpointId ?? ''].join('-')
  return {
    tenantId,
    ...(endpointId !== null && { endpointId }),
    id,
    facets: { reasons: reason },
    text: JSON.stringify({ id, ...refusalView(row) }),
  }
}
