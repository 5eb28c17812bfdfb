/** Stores the events that triggers may match. This happens in the transaction in which other services publish the events. */
import { currentCause } from '../../../../kernel/cause.ts'
import type { Sql } from '../../../../kernel/db.ts'
import type { Kit } from '../../../../kernel/define-service.ts'
import { CommandDispatched, CommandResultReceived } from '../../../commands/events.ts'
import { MetadataUpdated } from '../../../register/events.ts'
import { PointsStored, SamplesReceived } from '../../../time-series/events.ts'
import { AlertChanged } from '../../events.ts'
import type { TriggerType } from '../../model.ts'
import type { Library } from '../library.ts'
import { insertEvents } from '../store/events.ts'
import { alertEvent, commandEvent, metadataEvent, pointEvents, sampleEvents, type TenantEvents } from './convert.ts'
import { bucketOf, type RuleEvent } from './rule-event.ts'

/** A stored row of events. */
export interface StoredRow {
  id: number
  tenantId: string
  events: RuleEvent[]
  /** Length of the row's JSON. */
  bytes: number
  isTakenOver: boolean
}

export interface Recorder {
  /** Stores events with the commit of `sql`; afterwards this node runs them. */
  store(sql: Sql, events: TenantEvents[]): Promise<void>
}

/** Maximum number of events in a row. It is limited, so that a node that takes over a row repeats only few events. */
const eventsPerRow = 200

export function createRecorder(
  kit: Pick<Kit, 'db' | 'bus' | 'members' | 'now' | 'newId'>,
  library: Pick<Library, 'wants'>,
  stored: (rows: StoredRow[]) => void,
): Recorder {
  const { db, bus, members, now, newId } = kit

  /** Inserts the rows. The statement is not awaited. It is sent with the next statement or COMMIT, which fails if the insert fails. */
  async function store(sql: Sql, events: TenantEvents[]) {
    const rows = events.flatMap(({ tenantId, events }) => split(events).map((part) => ({ tenantId, events: part })))
    if (rows.length === 0) return
    const contents = rows.map(({ events }) => JSON.stringify(events))
    const inserted = insertEvents(
      sql,
      members.nodeId,
      rows.map(({ tenantId, events }, index) => ({ tenantId, buckets: bucketsOf(events), content: contents[index]! })),
    )
    inserted.catch(() => {})
    db.afterCommit(sql, () => {
      void inserted.then((ids) =>
        stored(
          rows.map((row, index) => ({
            ...row,
            id: ids[index]!,
            bytes: contents[index]!.length,
            isTakenOver: false,
          })),
        ),
      )
    })
  }

  const wants = (type: TriggerType) => (origin: Parameters<Library['wants']>[1]) => library.wants(type, origin)
  /** Removes the events that no trigger can match. */
  const eventsWithTriggers = (events: TenantEvents[]) =>
    events
      .map(({ tenantId, events }) => ({
        tenantId,
        events: events.filter(({ type, endpoint }) => library.wants(type, { tenantId, ...endpoint })),
      }))
      .filter(({ events }) => events.length > 0)

  bus.record(SamplesReceived, {
    wants: wants('endpoint-data-samples-received'),
    record: (sql, received) => store(sql, eventsWithTriggers(sampleEvents(received))),
  })
  bus.record(PointsStored, {
    wants: wants('endpoint-time-series-updated'),
    record: (sql, points) => store(sql, eventsWithTriggers(pointEvents(points, newId))),
  })
  bus.record(MetadataUpdated, {
    wants: wants('endpoint-metadata-updated'),
    record: (sql, updates) =>
      store(
        sql,
        byTenant(updates, (update) => metadataEvent(update, newId(), now().getTime())),
      ),
  })
  bus.record(CommandDispatched, {
    wants: wants('endpoint-command-dispatched'),
    record: (sql, commands) =>
      store(
        sql,
        byTenant(commands, (one) => commandEvent('endpoint-command-dispatched', one, now().getTime())),
      ),
  })
  bus.record(CommandResultReceived, {
    wants: wants('endpoint-command-result-received'),
    record: (sql, commands) =>
      store(
        sql,
        byTenant(commands, (one) => commandEvent('endpoint-command-result-received', one, now().getTime())),
      ),
  })
  bus.record(AlertChanged, {
    wants: wants('alert-lifecycle-event'),
    record: (sql, changes) =>
      store(
        sql,
        byTenant(changes, (change) => alertEvent(change, now().getTime())),
      ),
  })
  return { store }
}

const bucketsOf = (events: RuleEvent[]) => [
  ...new Set(events.flatMap(({ endpoint }) => (endpoint ? [bucketOf(endpoint.endpointId)] : []))),
]

export function byTenant<P extends { tenantId: string }>(
  payloads: P[],
  convert: (payload: P) => RuleEvent,
): TenantEvents[] {
  const groups = Map.groupBy(payloads, ({ tenantId }) => tenantId)
  return Array.from(groups, ([tenantId, all]) => ({
    tenantId,
    events: all.map((one) => withCurrentCause(convert(one))),
  }))
}

function withCurrentCause(event: RuleEvent): RuleEvent {
  const cause = event.cause ?? currentCause()
  return cause === undefined ? event : { ...event, cause }
}

function split(events: RuleEvent[]): RuleEvent[][] {
  if (events.length <= eventsPerRow) return [events]
  return Array.from({ length: Math.ceil(events.length / eventsPerRow) }, (_, index) =>
    events.slice(index * eventsPerRow, (index + 1) * eventsPerRow),
  )
}
