/**
 * Deletes what belongs to endpoints, applications and tenants that are gone. An endpoint loses its number, so nothing of it can be
 * read any more; its hot rows are left out when their slot is packed, and its chunks are deleted in the background.
 */
import type { Bus } from '../../../kernel/bus.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { Db, Sql } from '../../../kernel/db.ts'
import { defineJob, type Jobs } from '../../../kernel/jobs.ts'
import type { Register } from '../../register/contract.ts'
import { NumbersForgotten } from '../events.ts'
import { deleteChunksOf, tryPackingLock } from '../store/chunks.ts'
import * as store from '../store/deletions.ts'
import { deleteLatest } from '../store/latest.ts'
import { nextWritten } from '../store/latest-marks.ts'
import { findEndpointNumbers, numberEndpoints } from '../store/numbers.ts'
import { isSlotClosed } from '../store/samples.ts'

export interface Deletions {
  endpoints(sql: Sql, unregistered: Unregistered): Promise<void>
  application(sql: Sql, of: { tenantId: string; applicationName: string }): Promise<void>
  tenant(sql: Sql, of: { tenantId: string }): Promise<void>
  /** Deletes chunks and latest values of endpoints that are gone. `check` throws when it is time to end. */
  sweep(check: () => void): Promise<void>
  /** Finds endpoints that have a number but are not registered: a message was on its way when they were unregistered. */
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
  /** Connections for work that takes long. */
  background: Db
  bus: Bus
  jobs: Jobs
  register: Register
  now: Clock
}

const ForgetNumbers = defineJob<{ tenantId: string; applicationName?: string; upTo: number }>('time-series.forget', {
  timeoutSeconds: 3600,
})

const endpointsAtOnce = 1000
const sweptAtOnce = 20
/** By then every node knows that the number is gone and writes under the new one. */
const knownEverywhereMs = 15_000

export function createDeletions(deps: Deps): Deletions {
  deps.jobs.handle(ForgetNumbers, (of) => forgetNumbers(deps, of))
  return {
    endpoints: (sql, unregistered) => deleteEndpoints(deps, sql, unregistered),
    application: (sql, { tenantId, applicationName }) => deleteNames(deps, sql, { tenantId, applicationName }),
    tenant: (sql, { tenantId }) => deleteNames(deps, sql, { tenantId }),
    sweep: (check) => sweep(deps, check),
    sweepUnregistered: (check) => sweepUnregistered(deps, check),
  }
}

async function deleteEndpoints(deps: Deps, sql: Sql, unregistered: Unregistered) {
  const { tenantId, applicationName, endpointIds, unregisteredDate } = unregistered
  const numbers = await findEndpointNumbers(sql, endpointIds)
  if (numbers.length === 0) return
  const anew = await deps.register.findAll(numbers.map(({ endpointId }) => endpointId))
  const cutoff = await placeAt(deps, new Date(unregisteredDate))
  await store.insertGone(sql, endpointIds, cutoff, deps.now())
  for (const { endpointId, endpointNo } of numbers) {
    if (!anew.has(endpointId)) continue
    const [numbered] = await numberEndpoints(sql, [{ tenantId, applicationName, endpointId }])
    await store.copyUnderNewNumber(sql, { endpointNo, endpointId, cutoff }, numbered!.endpointNo)
  }
  const gone = numbers.map(({ endpointId }) => endpointId)
  await deps.bus.publish(sql, NumbersForgotten, { tenantId, endpointIds: gone })
}

/** About the place in the order of writes at that time: the database's clock may be another one, so only the time since counts. */
const placeAt = async ({ db, now }: Deps, date: Date) =>
  (await nextWritten(db.sql)) - (now().getTime() - date.getTime()) * 1000

async function deleteNames({ bus, jobs }: Deps, sql: Sql, of: { tenantId: string; applicationName?: string }) {
  await store.deleteNames(sql, of.tenantId, of.applicationName)
  await bus.publish(sql, NumbersForgotten, of)
  await jobs.send(sql, ForgetNumbers, { ...of, upTo: await store.findGreatestNumber(sql) })
}

async function forgetNumbers(
  { db, bus, now }: Deps,
  { tenantId, applicationName, upTo }: { tenantId: string; applicationName?: string; upTo: number },
) {
  for (;;) {
    const endpointIds = await store.findSomeOf(db.sql, { tenantId, applicationName, upTo, limit: endpointsAtOnce })
    if (endpointIds.length === 0) return
    const cutoff = await nextWritten(db.sql)
    await db.tx(async (sql) => {
      await store.insertGone(sql, endpointIds, cutoff, now())
      await bus.publish(sql, NumbersForgotten, { tenantId, endpointIds })
    })
  }
}

async function sweep({ background, now }: Deps, check: () => void) {
  for (;;) {
    check()
    const before = new Date(now().getTime() - knownEverywhereMs)
    const gone = await store.findGone(background.sql, before, sweptAtOnce)
    if (gone.length === 0) return
    try {
      if (!(await background.tx((sql) => deleteGone(sql, gone)))) return
    } catch (error) {
      // The next round writes into the next slot.
      if (isSlotClosed(error)) return
      throw error
    }
  }
}

/** False where another node packs or deletes at this moment. */
async function deleteGone(sql: Sql, gone: store.Gone[]): Promise<boolean> {
  if (!(await tryPackingLock(sql))) return false
  const numbers = await findEndpointNumbers(
    sql,
    gone.map(({ endpointId }) => endpointId),
  )
  const anew = new Map(numbers.map(({ endpointId, endpointNo }) => [endpointId, endpointNo]))
  for (const one of gone) {
    const endpointNo = anew.get(one.endpointId)
    if (endpointNo !== undefined) await store.copyUnderNewNumber(sql, one, endpointNo)
  }
  const old = gone.map(({ endpointNo }) => endpointNo)
  await deleteChunksOf(sql, old)
  await deleteLatest(sql, old)
  await store.deleteGone(sql, old)
  return true
}

async function sweepUnregistered({ background, register, now }: Deps, check: () => void) {
  for (let after = ''; ; ) {
    check()
    const ids = await store.findEndpointIds(background.sql, after, endpointsAtOnce)
    if (ids.length === 0) return
    after = ids.at(-1)!
    const registered = await register.findAll(ids)
    const unregistered = ids.filter((id) => !registered.has(id))
    if (unregistered.length === 0) continue
    const cutoff = await nextWritten(background.sql)
    await background.tx((sql) => store.insertGone(sql, unregistered, cutoff, now()))
  }
}
