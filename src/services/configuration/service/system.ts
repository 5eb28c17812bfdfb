/** System configurations: values of the platform at four levels, which devices never get (document 5, 2.9). */
import type { Identity } from '../../../identity/contract.ts'
import { authorize, authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import type { Window } from '../../../kernel/paging.ts'
import { holds, onResource, onTenant } from '../../../kernel/permissions.ts'
import type { Applications } from '../../applications/contract.ts'
import { applicationResource, endpointResource, type Register } from '../../register/contract.ts'
import { NoCurrentSystemConfiguration, NoPlace, NoSystemConfiguration, SystemConfigurationTaken } from '../errors.ts'
import * as store from '../store/system.ts'

export interface SystemInput {
  name: string
  displayName?: string | undefined
  config: string
}

export type Operation = 'read' | 'update'

/** Returns the levels to search for the entity in a path, nearest first. Throws 404 if the caller may not read the entity, and 403 if it may not do the operation. */
export type ResolvePlaces = (ctx: Ctx, id: string, operation: Operation) => Promise<store.SystemPlace[]>

export interface SystemOperations {
  places: { tenants: ResolvePlaces; applications: ResolvePlaces; versions: ResolvePlaces; endpoints: ResolvePlaces }
  create(place: store.SystemPlace, input: SystemInput): Promise<store.SystemRow>
  list(
    place: store.SystemPlace,
    name: string | undefined,
    window: Window,
  ): Promise<{ total: number; items: AsyncIterable<store.SystemRow> }>
  get(place: store.SystemPlace, configId: string): Promise<store.SystemRow>
  current(
    places: store.SystemPlace[],
    name: string,
  ): Promise<store.SystemRow & { level: store.Level; entityId: string }>
  /** Returns the new ETag. */
  update(place: store.SystemPlace, configId: string, input: SystemInput, ifMatch: string | undefined): Promise<string>
  delete(place: store.SystemPlace, configId: string, ifMatch: string | undefined): Promise<void>
}

interface Given {
  identity: Pick<Identity, 'realm'>
  applications: Pick<Applications, 'findVersion' | 'exists'>
  register: Pick<Register, 'find'>
}

export const etagOfSystem = ({ configId, name, displayName, config, updatedDate }: store.SystemRow) =>
  etagOf([configId, name, displayName, config, updatedDate])

const itemsAtOnce = 50

export function createSystemOperations(
  { db, now, newId }: Pick<Kit, 'db' | 'now' | 'newId'>,
  given: Given,
): SystemOperations {
  async function* walk(place: store.SystemPlace, name: string | undefined, { offset, limit }: Window) {
    for (let left = limit ?? Number.POSITIVE_INFINITY, at = offset; left > 0; ) {
      const page = await store.findSystemPage(db.sql, place, name, { offset: at, limit: Math.min(left, itemsAtOnce) })
      yield* page
      if (page.length < itemsAtOnce) return
      at += page.length
      left -= page.length
    }
  }

  return {
    places: placesOf(given),
    async create(place, input) {
      const at = now()
      const row = { configId: newId(), ...rowOf(input), createdDate: at, updatedDate: at }
      if (!(await store.insertSystem(db.sql, place, row))) throw SystemConfigurationTaken({ name: input.name })
      return row
    },
    async list(place, name, window) {
      return { total: await store.countSystem(db.sql, place, name), items: walk(place, name, window) }
    },
    async get(place, configId) {
      const found = await store.findSystem(db.sql, place, configId)
      if (!found) throw NoSystemConfiguration({ configId })
      return found
    },
    async current(places, name) {
      const found = await store.findCurrentSystem(db.sql, places, name)
      if (!found) throw NoCurrentSystemConfiguration({ name })
      return found
    },
    update: (place, configId, input, ifMatch) =>
      db.tx(async (sql) => {
        const old = await store.lockSystem(sql, place, configId)
        if (!old) throw NoSystemConfiguration({ configId })
        checkIfMatch(ifMatch, etagOfSystem(old))
        const row = { ...old, ...rowOf(input), updatedDate: now() }
        if (!(await store.updateSystem(sql, place, row))) throw SystemConfigurationTaken({ name: input.name })
        return etagOfSystem(row)
      }),
    delete: (place, configId, ifMatch) =>
      db.tx(async (sql) => {
        const old = await store.lockSystem(sql, place, configId)
        if (!old) throw NoSystemConfiguration({ configId })
        checkIfMatch(ifMatch, etagOfSystem(old))
        await store.deleteSystem(sql, place, configId)
      }),
  }
}

const rowOf = ({ name, displayName, config }: SystemInput) => ({ name, displayName: displayName ?? null, config })

function placesOf({ identity, applications, register }: Given): SystemOperations['places'] {
  const scopes = (kind: string, operation: Operation) => ({ read: `${kind}:read`, scope: `${kind}:${operation}` })
  const ofTenant = (tenantId: string): store.SystemPlace[] => [{ tenantId, level: 'TENANT', entityId: tenantId }]
  const ofApplication = (tenantId: string, name: string): store.SystemPlace[] => [
    { tenantId, level: 'APPLICATION', entityId: name },
    ...ofTenant(tenantId),
  ]
  const ofVersion = (tenantId: string, applicationName: string, name: string): store.SystemPlace[] => [
    { tenantId, level: 'APP_VERSION', entityId: name },
    ...ofApplication(tenantId, applicationName),
  ]
  return {
    async tenants(ctx, id, operation) {
      const scope = `tenant:configuration:${operation}`
      if (id === ctx.tenantId) authorize(ctx, scope, onTenant(id))
      // Another tenant exists only for callers with the scope on the platform.
      else if (!holds(ctx.caller, scope, onTenant(id)) || !(await identity.realm(id)))
        throw NoPlace({ what: 'tenant', id })
      return ofTenant(id)
    },
    async applications(ctx, id, operation) {
      const notFound = () => NoPlace({ what: 'application', id })
      if (!(await applications.exists(ctx, { name: id }))) throw notFound()
      const application = onResource(ctx.tenantId, applicationResource(id))
      authorizeOrNotFound(ctx, scopes('application', operation), application, notFound)
      return ofApplication(ctx.tenantId, id)
    },
    async versions(ctx, id, operation) {
      const notFound = () => NoPlace({ what: 'application version', id })
      const version = await applications.findVersion(id)
      if (!version) throw notFound()
      const { tenantId, applicationName } = version
      const application = onResource(tenantId, applicationResource(applicationName))
      authorizeOrNotFound(ctx, scopes('application', operation), application, notFound)
      return ofVersion(tenantId, applicationName, id)
    },
    async endpoints(ctx, id, operation) {
      const notFound = () => NoPlace({ what: 'endpoint', id })
      const endpoint = await register.find(id)
      if (!endpoint) throw notFound()
      authorizeOrNotFound(ctx, scopes('endpoint', operation), endpointResource(endpoint), notFound)
      const { tenantId, applicationName, versionName } = endpoint
      return [{ tenantId, level: 'ENDPOINT', entityId: id }, ...ofVersion(tenantId, applicationName, versionName)]
    },
  }
}
