/** Stores which pushes a device has stopped: `observe: false` stops the pushes of a name until `observe: true`. */
import { createBatcher } from '../kernel/batcher.ts'
import { createCache } from '../kernel/cache.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { DeviceEndpoint } from '../kernel/device.ts'
import { invalidField } from '../kernel/errors.ts'
import { defineJob } from '../kernel/jobs.ts'
import { EndpointUnregistered } from '../services/register/events.ts'
import { TenantDeleted } from '../services/tenants/events.ts'
import { everyName } from './contract.ts'
import { ObservationsChanged } from './signals.ts'
import * as store from './store/observations.ts'

/** Maximum number of names of one endpoint in one extension, so that a device cannot fill the table. */
const namesMax = 200

/** Maximum number of lookups in one statement. Simultaneous pushes share a statement. */
const lookupsPerStatement = 500

type Observations = readonly (store.ObservationKey & store.ObservationRow)[]

const none: Observations = []
const cachedMax = 50_000

const DeleteTenantObservations = defineJob<{ tenantId: string }>('gateway.forget-observations-of-tenant', {
  timeoutSeconds: 3600,
})

export interface Observation {
  /** Implements `Gateway.observe`. */
  set(endpoint: DeviceEndpoint, extension: string, name: string, observed: boolean): Promise<void>
  /** Returns a function that returns whether the endpoint observes a name. */
  observes(endpointId: string, extension: string): Promise<(name: string) => boolean>
}

type Deps = Pick<Kit, 'db' | 'bus' | 'jobs' | 'signals' | 'now'>

export function createObservation({ db, bus, jobs, signals, now }: Deps): Observation {
  /** The observations of each endpoint in all extensions, by endpoint id. Every push with a name needs them. Most entries are empty. */
  const cache = createCache<Observations>({ max: cachedMax })
  signals.on(ObservationsChanged, ({ endpointIds }) => {
    if (!endpointIds) cache.clear()
    else for (const endpointId of endpointIds) cache.drop(endpointId)
  })
  signals.onReset(cache.clear)

  bus.handle('gateway.forget-observations', EndpointUnregistered, async (sql, { endpointIds, unregisteredDate }) => {
    await store.deleteObservationsOf(sql, endpointIds, new Date(unregisteredDate))
    await signals.send(sql, 'all', ObservationsChanged, { endpointIds })
  })
  jobs.handle(DeleteTenantObservations, async ({ tenantId }) => {
    while ((await store.deleteObservationsOfTenant(db.sql, tenantId, 5000)) > 0);
    await signals.sendNow('all', ObservationsChanged, {})
  })
  bus.handle(DeleteTenantObservations.name, TenantDeleted, (sql, { tenantId }) =>
    jobs.send(sql, DeleteTenantObservations, { tenantId }),
  )

  const find = createBatcher<string, Observations>(async (endpointIds) => {
    const found = Map.groupBy(await store.findObservationsOfAll(db.sql, endpointIds), ({ endpointId }) => endpointId)
    return endpointIds.map((endpointId) => found.get(endpointId) ?? none)
  }, lookupsPerStatement)

  return {
    async set({ endpointId, tenantId }, extension, name, observed) {
      const key = { endpointId, extension }
      const rows = await store.findObservations(db.sql, key)
      // Devices repeat `observe` at each connect, so only changes are written.
      const isOnlyRow = name !== everyName || rows.every((row) => row.name === everyName)
      if (isOnlyRow && observedBy(rows)(name) === observed) return
      if (rows.length >= namesMax && name !== everyName && !rows.some((row) => row.name === name))
        throw invalidField('observe', `an endpoint can set at most ${namesMax} names of ${extension}`)
      const row = { ...key, name, tenantId, observed, setAt: now() }
      await db.tx(async (sql) => {
        if (name === everyName) await store.deleteObservations(sql, key)
        if (name !== everyName || !observed) await store.saveObservation(sql, row)
        await signals.send(sql, 'all', ObservationsChanged, { endpointIds: [endpointId] })
      })
    },

    async observes(endpointId, extension) {
      const all = (await cache.read(endpointId, () => find(endpointId)))!
      return observedBy(all.length === 0 ? none : all.filter((row) => row.extension === extension))
    },
  }
}

const observedBy = (rows: readonly store.ObservationRow[]) => (name: string) =>
  (rows.find((row) => row.name === name) ?? rows.find((row) => row.name === everyName))?.observed ?? true
