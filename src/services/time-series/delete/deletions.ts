/**
 * What goes with an endpoint, an application or a tenant. Taking its number away makes the data of an endpoint unreadable at
 * once; hot rows are left out when their slot is packed, chunks are deleted in the background.
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
import { findEndpointNumbers, numberEndpoints } from '../store/numbers.ts'
import { nextWritten } from '../store/samples.ts'

export interface Forget {
  endpoints(sql: Sql, gone: Unregistered): Promise<void>
  application(sql: Sql, of: { tenantId: string; applicationName: string }): Promise<void>
  tenant(sql: Sql, of: { tenantId: string }): Promise<void>
  /** Deletes chunks and latest values of those that are no more. */
  sweep(check: () => void): Promise<void>
  /** Endpoints that have a number but are not registered: a message of theirs was on its way when they went. */
  strays(check: () => void): Promise<void>
}

export interface Unregistered {
  tenantId: string
  applicationName: string
  endpointIds: string[]
  unregisteredDate: string
}

const ForgetNumbers = defineJob<{ tenantId: string; applicationName?: string; upTo: number }>('time-series.forget', {
  timeoutSeconds: 3600,
})
const endpointsAtOnce = 1000
const sweptAtOnce = 20
/** Processes that still wrote under an old number have heard of it by then. */
const heardMs = 15_000

export function createForget({
  db,
  own,
  bus,
  jobs,
  register,
  now,
}: {
  db: Db
  /** Connections for work that takes long. */
  own: Db
  bus: Bus
  jobs: Jobs
  register: Register
  now: Clock
}): Forget {
  jobs.handle(ForgetNumbers, async ({ tenantId, applicationName, upTo }) => {
    for (;;) {
      const of = { tenantId, applicationName, upTo, limit: endpointsAtOnce }
      const endpointIds = await store.findSomeOf(db.sql, of)
      if (endpointIds.length === 0) return
      const cutoff = await nextWritten(db.sql)
      await db.tx(async (sql) => {
        await store.insertGone(sql, endpointIds, cutoff, now())
        await bus.publish(sql, NumbersForgotten, { tenantId, endpointIds })
      })
    }
  })

  /** About the place in the order of writes at that time: the database's clock may be another one, so only the time since counts. */
  const positionAt = async (date: Date) => (await nextWritten(db.sql)) - (now().getTime() - date.getTime()) * 1000

  async function renumber(sql: Sql, gone: store.Gone, of: { tenantId: string; applicationName: string }) {
    const [numbered] = await numberEndpoints(sql, [{ ...of, endpointId: gone.endpointId }])
    if (!(await store.copyUnderNewNumber(sql, gone, numbered!.endpointNo))) throw new Error('the slot was just closed')
  }

  async function forgetNames(sql: Sql, tenantId: string, applicationName?: string) {
    const of = { tenantId, ...(applicationName !== undefined && { applicationName }) }
    await store.deleteNames(sql, tenantId, applicationName)
    await bus.publish(sql, NumbersForgotten, of)
    await jobs.send(sql, ForgetNumbers, { ...of, upTo: await store.findGreatestNumber(sql) })
  }

  return {
    async endpoints(sql, { tenantId, applicationName, endpointIds, unregisteredDate }) {
      const numbers = await findEndpointNumbers(sql, endpointIds)
      if (numbers.length === 0) return
      const anew = await register.findAll(numbers.map(({ endpointId }) => endpointId))
      const cutoff = await positionAt(new Date(unregisteredDate))
      await store.insertGone(sql, endpointIds, cutoff, now())
      for (const { endpointId, endpointNo } of numbers)
        if (anew.has(endpointId)) await renumber(sql, { endpointNo, endpointId, cutoff }, { tenantId, applicationName })
      const gone = numbers.map(({ endpointId }) => endpointId)
      await bus.publish(sql, NumbersForgotten, { tenantId, endpointIds: gone })
    },
    application: (sql, { tenantId, applicationName }) => forgetNames(sql, tenantId, applicationName),
    tenant: (sql, { tenantId }) => forgetNames(sql, tenantId),

    async sweep(check) {
      for (;;) {
        check()
        const gone = await store.findGone(own.sql, new Date(now().getTime() - heardMs), sweptAtOnce)
        if (gone.length === 0) return
        const swept = await own.tx(async (sql) => {
          if (!(await tryPackingLock(sql))) return false
          const anew = new Map(
            (
              await findEndpointNumbers(
                sql,
                gone.map(({ endpointId }) => endpointId),
              )
            ).map(({ endpointId, endpointNo }) => [endpointId, endpointNo]),
          )
          for (const one of gone) {
            const endpointNo = anew.get(one.endpointId)
            if (endpointNo !== undefined && !(await store.copyUnderNewNumber(sql, one, endpointNo))) return false
          }
          const numbers = gone.map(({ endpointNo }) => endpointNo)
          await deleteChunksOf(sql, numbers)
          await deleteLatest(sql, numbers)
          await store.deleteGone(sql, numbers)
          return true
        })
        if (!swept) return
      }
    },

    async strays(check) {
      let after = ''
      for (;;) {
        check()
        const ids = await store.findEndpointIds(own.sql, after, endpointsAtOnce)
        if (ids.length === 0) return
        after = ids.at(-1)!
        const registered = await register.findAll(ids)
        const strays = ids.filter((id) => !registered.has(id))
        if (strays.length === 0) continue
        const cutoff = await nextWritten(own.sql)
        await own.tx(async (sql) => void (await store.insertGone(sql, strays, cutoff, now())))
      }
    },
  }
}
