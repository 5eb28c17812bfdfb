/** Stores which pushes a device has stopped: `observe: false` stops the pushes of a name until `observe: true`. */
import { createBatcher } from '../kernel/batcher.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { DeviceEndpoint } from '../kernel/device.ts'
import { invalidField } from '../kernel/errors.ts'
import { defineJob } from '../kernel/jobs.ts'
import { EndpointUnregistered } from '../services/register/events.ts'
import { TenantDeleted } from '../services/tenants/events.ts'
import { everyName } from './contract.ts'
import * as store from './store/observations.ts'

/** Maximum number of names of one endpoint in one extension, so that a device cannot fill the table. */
const namesMax = 200

/** Maximum number of lookups in one statement, which simultaneous pushes share. */
const lookupsPerStatement = 500

const DeleteTenantObservations = defineJob<{ tenantId: string }>('gateway.forget-observations-of-tenant', {
  timeoutSeconds: 3600,
})

export interface Observation {
  /** Implements `Gateway.observe`. */
  set(endpoint: DeviceEndpoint, extension: string, name: string, observed: boolean): Promise<void>
  /** Returns a function that says whether the endpoint observes a name. */
  observes(endpointId: string, extension: string): Promise<(name: string) => boolean>
}

export function createObservation({ db, bus, jobs, now }: Pick<Kit, 'db' | 'bus' | 'jobs' | 'now'>): Observation {
  bus.handle('gateway.forget-observations', EndpointUnregistered, (sql, { endpointIds, unregisteredDate }) =>
    store.deleteObservationsOf(sql, endpointIds, new Date(unregisteredDate)),
  )
  jobs.handle(DeleteTenantObservations, async ({ tenantId }) => {
    while ((await store.deleteObservationsOfTenant(db.sql, tenantId, 5000)) > 0);
  })
  bus.handle(DeleteTenantObservations.name, TenantDeleted, (sql, { tenantId }) =>
    jobs.send(sql, DeleteTenantObservations, { tenantId }),
  )

  const find = createBatcher<store.ObservationKey, store.ObservationRow[]>(async (keys) => {
    const rows = await store.findObservationsOfAll(db.sql, keys)
    const found = Map.groupBy(rows, ({ position }) => position)
    return keys.map((_, position) => found.get(position) ?? [])
  }, lookupsPerStatement)

  return {
    async set({ endpointId, tenantId }, extension, name, observed) {
      const key = { endpointId, extension }
      const rows = await store.findObservations(db.sql, key)
      // Devices repeat `observe` at each connect: write only changes.
      const isOnlyRow = name !== everyName || rows.every((row) => row.name === everyName)
      if (isOnlyRow && observedBy(rows)(name) === observed) return
      if (rows.length >= namesMax && name !== everyName && !rows.some((row) => row.name === name))
        throw invalidField('observe', `an endpoint can set at most ${namesMax} names of ${extension}`)
      const row = { ...key, name, tenantId, observed, setAt: now() }
      await db.tx(async (sql) => {
        if (name === everyName) await store.deleteObservations(sql, key)
        if (name !== everyName || !observed) await store.saveObservation(sql, row)
      })
    },

    observes: async (endpointId, extension) => observedBy((await find({ endpointId, extension })) ?? []),
  }
}

const observedBy = (rows: store.ObservationRow[]) => (name: string) =>
  (rows.find((row) => row.name === name) ?? rows.find((row) => row.name === everyName))?.observed ?? true
