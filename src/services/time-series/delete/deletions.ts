/**
 * Deletes data of endpoints, applications and tenants that no longer exist. A deleted endpoint loses its number, so its data cannot be read
 * any more. Its samples are left out when their slot is packed; its chunks are deleted in the background.
 */
import type { Bus } from '../../../kernel/bus.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { Db, Sql } from '../../../kernel/db.ts'
import { defineJob, type Jobs } from '../../../kernel/jobs.ts'
import type { Register } from '../../register/contract.ts'
import { NumbersRemoved } from '../events.ts'
import { deleteChunksOf, tryPackingLock } from '../store/chunks.ts'
import * as store from '../store/deletions.ts'
import { deleteLatest } from '../store/latest.ts'
import { nextWritten } from '../store/latest-marks.ts'
import { findEndpointNumbers, numberEndpoints } from '../store/numbers.ts'
import { isSlotClosed } from '../store/samples.ts'

export interface Deletions {
  endpoints(sql: Sql, unregistered: Unregistered): Promise<void>
  application(sql: Sql, application: { tenantId: string; applicationName: string }): Promise<void>
  tenant(sql: Sql, tenant: { tenantId: string }): Promise<void>
  /** Deletes chunks and latest values of deleted endpoints. `check` throws when the process shuts down. */
  sweep(check: () => void): Promise<void>
  /**
   * Deletes the data of endpoints that have a number but are not registered. Such a number remains if a message arrives while its endpoint
   * is being unregistered.
   */
  sweepUnregistered(check: () => void): Promise<void>
}

export interface Unregistered {
  tenantId: string
  applicationName: string
  endpointIds: string[]
  unregisteredDate: string
}

interface Deps {
  db: Db
  /** Pool for long statements. */
  background: Db
  bus: Bus
  jobs: Jobs
  register: Register
  now: Clock
}

const RemoveNumbers = defineJob<{ tenantId: string; applicationName?: string; upTo: number }>('time-series.forget', {
  timeoutSeconds: 3600,
})

const endpointsPerTransaction = 1000
const endpointsPerSweep = 20
/** This long after the deletion of an endpoint, every node has removed the number of the endpoint from its cache. */
const invalidatedEverywhereMs = 15_000

export function createDeletions(deps: Deps): Deletions {
  deps.jobs.handle(RemoveNumbers, (owner) => removeNumbers(deps, owner))
  return {
    endpoints: (sql, unregistered) => deleteEndpoints(deps, sql, unregistered),
    application: (sql, { tenantId, applicationName }) => deleteNames(deps, sql, { tenantId, applicationName }),
    tenant: (sql, { tenantId }) => deleteNames(deps, sql, { tenantId }),
    sweep: (check) => sweep(deps, check),
    sweepUnregistered: (check) => sweepUnregistered(deps, check),
  }
}

async function deleteEndpoints(deps: Deps, sql: Sql, unregistered: Unregistered) {
  const { tenantId, endpointIds, unregisteredDate } = unregistered
  const numbers = await findEndpointNumbers(sql, endpointIds)
  if (numbers.length === 0) return
  const registered = await deps.register.findAll(numbers.map(({ endpointId }) => endpointId))
  const cutoff = await numberAt(deps, new Date(unregisteredDate))
  await store.moveToDeleted(sql, endpointIds, cutoff, deps.now())
  for (const { endpointId, endpointNo } of numbers) {
    // Another application, even of another tenant, may have registered the id again. The event names the former application.
    const owner = registered.get(endpointId)
    if (!owner) continue
    const [numbered] = await numberEndpoints(sql, [owner])
    await store.copyUnderNewNumber(sql, { endpointNo, endpointId, cutoff }, numbered!.endpointNo)
  }
  const deleted = numbers.map(({ endpointId }) => endpointId)
  await deps.bus.publish(sql, NumbersRemoved, { tenantId, endpointIds: deleted })
}

/**
 * Estimates which number in the order of writes was the next one at a past time. The numbers are microseconds of the database clock, which
 * can differ from the clock of this node. Therefore the elapsed time is subtracted from the current number.
 */
const numberAt = async ({ db, now }: Deps, date: Date) =>
  (await nextWritten(db.sql)) - (now().getTime() - date.getTime()) * 1000

async function deleteNames({ bus, jobs }: Deps, sql: Sql, owner: { tenantId: string; applicationName?: string }) {
  await store.deleteNames(sql, owner.tenantId, owner.applicationName)
  await bus.publish(sql, NumbersRemoved, owner)
  await jobs.send(sql, RemoveNumbers, { ...owner, upTo: await store.findGreatestNumber(sql) })
}

async function removeNumbers(
  { db, bus, now }: Deps,
  { tenantId, applicationName, upTo }: { tenantId: string; applicationName?: string; upTo: number },
) {
  for (;;) {
    const endpointIds = await store.findEndpointIdsOf(db.sql, {
      tenantId,
      applicationName,
      upTo,
      limit: endpointsPerTransaction,
    })
    if (endpointIds.length === 0) return
    const cutoff = await nextWritten(db.sql)
    await db.tx(async (sql) => {
      await store.moveToDeleted(sql, endpointIds, cutoff, now())
      await bus.publish(sql, NumbersRemoved, { tenantId, endpointIds })
    })
  }
}

async function sweep({ background, now }: Deps, check: () => void) {
  for (;;) {
    check()
    const before = new Date(now().getTime() - invalidatedEverywhereMs)
    const deleted = await store.findDeleted(background.sql, before, endpointsPerSweep)
    if (deleted.length === 0) return
    try {
      if (!(await background.tx((sql) => deleteDataOf(sql, deleted)))) return
    } catch (error) {
      // The slot into which samples were copied was closed in the meantime. The next round copies them into the next slot.
      if (isSlotClosed(error)) return
      throw error
    }
  }
}

/** Deletes the data of these endpoints. Returns false if another node is packing or deleting. */
async function deleteDataOf(sql: Sql, deleted: store.DeletedEndpoint[]): Promise<boolean> {
  if (!(await tryPackingLock(sql))) return false
  const numbers = await findEndpointNumbers(
    sql,
    deleted.map(({ endpointId }) => endpointId),
  )
  const registered = new Map(numbers.map(({ endpointId, endpointNo }) => [endpointId, endpointNo]))
  for (const endpoint of deleted) {
    const endpointNo = registered.get(endpoint.endpointId)
    if (endpointNo !== undefined) await store.copyUnderNewNumber(sql, endpoint, endpointNo)
  }
  const oldNumbers = deleted.map(({ endpointNo }) => endpointNo)
  await deleteChunksOf(sql, oldNumbers)
  await deleteLatest(sql, oldNumbers)
  await store.removeDeleted(sql, oldNumbers)
  return true
}

async function sweepUnregistered({ background, register, now }: Deps, check: () => void) {
  for (let after = ''; ; ) {
    check()
    const ids = await store.findEndpointIds(background.sql, after, endpointsPerTransaction)
    if (ids.length === 0) return
    after = ids.at(-1)!
    const registered = await register.findAll(ids)
    const unregistered = ids.filter((id) => !registered.has(id))
    if (unregistered.length === 0) continue
    const cutoff = await nextWritten(background.sql)
    await background.tx((sql) => store.moveToDeleted(sql, unregistered, cutoff, now()))
  }
}
