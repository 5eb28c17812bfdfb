/**
 * The audit log. The HTTP server begins an entry for each operation that changes something. The record is committed with the first
 * transaction of the request, or written before the response. Therefore no change gets a successful response without a record.
 */
import { createBatcher } from '../batcher.ts'
import type { Clock } from '../clock.ts'
import { type Caller, nameOfCaller } from '../contract.ts'
import { type CommitCompanion, withCompanion } from '../db/commit-companion.ts'
import type { Db, Sql } from '../db.ts'
import { newId } from '../ids.ts'
import type { Log } from '../log.ts'
import { auditWriteFailed } from '../log-messages.ts'
import { createAuditEvents } from './events.ts'
import { type AuditActor, type AuditRecord, type ClaimedRecord, storable } from './record.ts'
import * as store from './store.ts'

export interface AuditEvent {
  tenantId: string
  /** Name of the event, such as `logins.failed`. */
  operation: string
  actor?: AuditActor | undefined
  address?: string | undefined
  correlationId?: string | undefined
  resource?: string | undefined
  status?: number | undefined
}

export interface NewEntry {
  caller: Caller
  operation: string
  resource: string
  /** The status of a successful response. */
  successStatus: number
  address: string | undefined
  correlationId: string
}

/** The audit entry of a request that is still running. */
export interface AuditEntry {
  /** Runs the operation. Its first transaction also writes the record. `fields` are the names of the fields in the body, for the record. */
  run<T>(fields: string[] | null, work: () => T): T
  /** Sets the tenant that the request is about, if that is not the tenant of the caller. */
  setTenant(tenantId: string): void
  /**
   * Sets the last part of the path of the object that the request creates. If it is set before the commit, the committed record already
   * contains the full path of the object.
   */
  setCreated(name: string): void
  /**
   * Writes the outcome. For a successful response, the promise resolves when the record is durable, and rejects if the record cannot be
   * written.
   */
  finish(status: number, createdResource: string | undefined): Promise<void>
}

export interface Audit {
  begin(entry: NewEntry): AuditEntry
  /** Records an event that is not an API operation, such as a failed login; returns immediately. */
  record(event: AuditEvent): void
  list(
    query: store.AuditQuery,
    window: { offset: number; limit: number },
  ): Promise<{ total: number; records: AuditRecord[] }>
  /** Returns all matching records, newest first, in parts. */
  all(query: store.AuditQuery): AsyncIterable<AuditRecord[]>
  /** Deletes records that are older than the configured number of days. */
  prune(): Promise<void>
  deleteTenant(sql: Sql, tenantId: string): Promise<void>
  /** Writes all pending records. */
  flush(): Promise<void>
}

const batchMax = 500
const partSize = 1000
const dayMs = 86_400_000

/**
 * Returns whether a response is recorded. Successes, 403 and 5xx are recorded. Requests with other errors are not recorded, because they
 * changed nothing and did not fail for lack of a permission.
 */
const isRecorded = (status: number) => status < 400 || status === 403 || status >= 500

export function createAudit(deps: { db: Db; now: Clock; log: Log; days: number }): Audit {
  const { db, now, log, days } = deps
  const insert = createBatcher<AuditRecord, void>(async (records) => {
    await store.insertRecords(db.sql, records)
    return []
  }, batchMax)
  const complete = createBatcher<store.AuditOutcome, void>(async (outcomes) => {
    await store.updateRecords(db.sql, outcomes)
    return []
  }, batchMax)
  const pending = new Set<Promise<unknown>>()
  const report = (error: unknown) => auditWriteFailed(log, { err: error })
  /** Waits for a write in the background, so that the write does not delay the response. */
  const later = (written: Promise<unknown>) => {
    const settled = written.catch(report).finally(() => pending.delete(settled))
    pending.add(settled)
  }
  const entryDeps: EntryDeps = { now, insert, complete, later }
  const events = createAuditEvents((records) => store.insertRecords(db.sql, records).catch(report))

  return {
    begin: (entry) => new EntryOf(entryDeps, entry),
    record: (event) => events.add(recordOfEvent(event, now())),
    async list(query, window) {
      const [total, records] = await Promise.all([
        store.countRecords(db.sql, query),
        store.findRecords(db.sql, query, window),
      ])
      return { total, records }
    },
    async *all(query) {
      let after: AuditRecord | undefined
      do {
        const records: AuditRecord[] = await store.findRecords(db.sql, query, { limit: partSize, after })
        if (records.length > 0) yield records
        after = records.length === partSize ? records.at(-1) : undefined
      } while (after)
    },
    async prune() {
      const before = new Date(now().getTime() - days * dayMs)
      while (await store.deleteBefore(db.sql, before));
    },
    deleteTenant: store.deleteOfTenant,
    async flush() {
      await Promise.all([events.flush(), ...pending])
    },
  }
}

const recordOfEvent = (event: AuditEvent, at: Date): AuditRecord => ({
  id: newId(),
  at,
  tenantId: event.tenantId,
  operation: event.operation,
  resource: storable(event.resource),
  status: event.status ?? null,
  ...actorColumns(event.actor, event.tenantId),
  address: storable(event.address),
  correlationId: storable(event.correlationId),
  fields: null,
  count: 1,
})

const actorColumns = (actor: AuditActor | undefined, tenantId: string) => ({
  actorType: actor?.type ?? null,
  actorId: storable(actor?.id),
  actorName: storable(actor?.name),
  actorTenantId: actor?.tenantId === undefined || actor.tenantId === tenantId ? null : actor.tenantId,
})

interface EntryDeps {
  now: Clock
  insert(record: AuditRecord): Promise<unknown>
  complete(outcome: store.AuditOutcome): Promise<unknown>
  later(written: Promise<unknown>): void
}

interface Entry extends AuditEntry, CommitCompanion {
  /** Returns the record for a statement that several requests share (claim-record.ts). */
  claim(status: number, resource?: string): ClaimedRecord | undefined
}

interface EntryData {
  deps: EntryDeps
  entry: NewEntry
  tenantId: string
  fields: string[] | null
  /**
   * The state is `writing` while a transaction that contains the record runs. Other transactions of the request then do not write the
   * record again.
   */
  state: 'open' | 'writing' | 'written' | 'finished'
  written: AuditRecord | undefined
  createdName: string | undefined
}

/**
 * Constructs an entry. Its functions are on the prototype, because an entry stays in memory while its request waits, and ten thousand
 * requests can wait at the same time.
 */
function constructEntry(this: EntryData, deps: EntryDeps, entry: NewEntry) {
  this.deps = deps
  this.entry = entry
  this.tenantId = entry.caller.tenantId
  this.fields = null
  this.state = 'open'
  this.written = undefined
  this.createdName = undefined
}

const entryPrototype: Entry & ThisType<Entry & EntryData> = {
  prepare() {
    const { resource, successStatus } = this.entry
    const claimed = this.claim(
      successStatus,
      this.createdName === undefined ? undefined : `${resource}/${this.createdName}`,
    )
    if (!claimed) return undefined
    const { record, settle } = claimed
    return {
      row: record,
      write: store.sendRecords,
      settle: (isCommitted) => settle(isCommitted ? record.resource : undefined),
    }
  },
  claim(status, resource) {
    if (this.state !== 'open') return undefined
    this.state = 'writing'
    const record = recordNow(this, status, resource)
    return {
      record,
      settle: (storedResource) => {
        if (storedResource !== undefined) this.written = { ...record, resource: storedResource }
        if (this.state === 'writing') this.state = this.written ? 'written' : 'open'
      },
    }
  },
  run(declared, work) {
    this.fields = declared
    return withCompanion(this, work)
  },
  setTenant(other) {
    this.tenantId = other
  },
  setCreated(name) {
    this.createdName = name
  },
  async finish(status, createdResource) {
    const { written } = this
    const { insert, complete, later } = this.deps
    if (this.state === 'finished') return
    this.state = 'finished'
    if (written) {
      const resource = storable(createdResource)
      const isComplete = status === written.status && (resource === null || resource === written.resource)
      if (!isComplete) later(complete({ record: written, resource, status }))
    } else if (status < 400) await insert(recordNow(this, status, createdResource))
    else if (isRecorded(status)) later(insert(recordNow(this, status)))
  },
}
constructEntry.prototype = entryPrototype
const EntryOf = constructEntry as unknown as new (deps: EntryDeps, entry: NewEntry) => AuditEntry

function recordNow({ deps, entry, tenantId, fields }: EntryData, status: number, resource = entry.resource) {
  const { caller, operation, address, correlationId } = entry
  const record: AuditRecord = {
    id: newId(),
    at: deps.now(),
    tenantId,
    operation,
    resource: storable(resource),
    status,
    ...actorColumns({ ...caller.subject, name: nameOfCaller(caller), tenantId: caller.tenantId }, tenantId),
    address: storable(address),
    correlationId: storable(correlationId),
    fields,
    count: 1,
  }
  return record
}
