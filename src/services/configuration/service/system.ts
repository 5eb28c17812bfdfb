/** System configurations: values of the platform at four levels, which are never sent to devices (document 5, 2.9). */
import type { Identity } from '../../../identity/contract.ts'
import { authorize, authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import type { Window } from '../../../kernel/paging.ts'
import { holds, onResource, onTenant } from '../../../kernel/permissions.ts'
import type { Applications } from '../../applications/contract.ts'
import { applicationResource, endpointResource, type Register } from '../../register/contract.ts'
import {
  NoCurrentSystemConfiguration,
  NoSystemConfiguration,
  NoSystemOwner,
  SystemConfigurationTaken,
} from '../errors.ts'
import * as store from '../store/system.ts'

export interface SystemInput {
  name: string
  displayName?: string | undefined
  config: string
}

export type Operation = 'read' | 'update'

/**
 * Returns the entity with this id and the entities above it, such as an endpoint, its version, its application and its tenant. Throws 404
 * if the caller may not read the entity, and 403 if the caller may read it but lacks the permission for the operation.
 */
export type ResolveOwners = (ctx: Ctx, id: string, operation: Operation) => Promise<store.SystemOwner[]>

export interface SystemOperations {
  owners: { tenants: ResolveOwners; applications: ResolveOwners; versions: ResolveOwners; endpoints: ResolveOwners }
  create(owner: store.SystemOwner, input: SystemInput): Promise<store.SystemRow>
  list(
    owner: store.SystemOwner,
    name: string | undefined,
    window: Window,
  ): Promise<{ total: number; items: AsyncIterable<store.SystemRow> }>
  get(owner: store.SystemOwner, configId: string): Promise<store.SystemRow>
  current(
    owners: store.SystemOwner[],
    name: string,
  ): Promise<store.SystemRow & { level: store.Level; entityId: string }>
  /** Changes a configuration and returns the new ETag. */
  update(owner: store.SystemOwner, configId: string, input: SystemInput, ifMatch: string | undefined): Promise<string>
  delete(owner: store.SystemOwner, configId: string, ifMatch: string | undefined): Promise<void>
}

interface SystemDeps {
  identity: Pick<Identity, 'realm'>
  applications: Pick<Applications, 'findVersion' | 'exists'>
  register: Pick<Register, 'find'>
}

export const etagOfSystem = ({ configId, name, displayName, config, updatedDate }: store.SystemRow) =>
  etagOf([configId, name, displayName, config, updatedDate])

const itemsPerPage = 50

export function createSystemOperations(
  { db, now, newId }: Pick<Kit, 'db' | 'now' | 'newId'>,
  services: SystemDeps,
): SystemOperations {
  async function* walk(owner: store.SystemOwner, name: string | undefined, { offset, limit }: Window) {
    for (let left = limit ?? Number.POSITIVE_INFINITY, at = offset; left > 0; ) {
      const page = await store.findSystemPage(db.sql, owner, name, { offset: at, limit: Math.min(left, itemsPerPage) })
      yield* page
      if (page.length < itemsPerPage) return
      at += page.length
      left -= page.length
    }
  }

  return {
    owners: ownersOf(services),
    async create(owner, input) {
      const at = now()
      const row = { configId: newId(), ...rowOf(input), createdDate: at, updatedDate: at }
      if (!(await store.insertSystem(db.sql, owner, row))) throw SystemConfigurationTaken({ name: input.name })
      return row
    },
    async list(owner, name, window) {
      return { total: await store.countSystem(db.sql, owner, name), items: walk(owner, name, window) }
    },
    async get(owner, configId) {
      const found = await store.findSystem(db.sql, owner, configId)
      if (!found) throw NoSystemConfiguration({ configId })
      return found
    },
    async current(owners, name) {
      const found = await store.findCurrentSystem(db.sql, owners, name)
      if (!found) throw NoCurrentSystemConfiguration({ name })
      return found
    },
    update: (owner, configId, input, ifMatch) =>
      db.tx(async (sql) => {
        const old = await store.lockSystem(sql, owner, configId)
        if (!old) throw NoSystemConfiguration({ configId })
        checkIfMatch(ifMatch, etagOfSystem(old))
        const row = { ...old, ...rowOf(input), updatedDate: now() }
        if (!(await store.updateSystem(sql, owner, row))) throw SystemConfigurationTaken({ name: input.name })
        return etagOfSystem(row)
      }),
    delete: (owner, configId, ifMatch) =>
      db.tx(async (sql) => {
        const old = await store.lockSystem(sql, owner, configId)
        if (!old) throw NoSystemConfiguration({ configId })
        checkIfMatch(ifMatch, etagOfSystem(old))
        await store.deleteSystem(sql, owner, configId)
      }),
  }
}

const rowOf = ({ name, displayName, config }: SystemInput) => ({ name, displayName: displayName ?? null, config })

function ownersOf({ identity, applications, register }: SystemDeps): SystemOperations['owners'] {
  const scopes = (kind: string, operation: Operation) => ({ read: `${kind}:read`, scope: `${kind}:${operation}` })
  const ofTenant = (tenantId: string): store.SystemOwner[] => [{ tenantId, level: 'TENANT', entityId: tenantId }]
  const ofApplication = (tenantId: string, name: string): store.SystemOwner[] => [
    { tenantId, level: 'APPLICATION', entityId: name },
    ...ofTenant(tenantId),
  ]
  const ofVersion = (tenantId: string, applicationName: string, name: string): store.SystemOwner[] => [
    { tenantId, level: 'APP_VERSION', entityId: name },
    ...ofApplication(tenantId, applicationName),
  ]
  return {
    async tenants(ctx, id, operation) {
      const scope = `tenant:configuration:${operation}`
      if (id === ctx.tenantId) authorize(ctx, scope, onTenant(id))
      // Only callers with the scope on the platform can see that another tenant exists.
      else if (!holds(ctx.caller, scope, onTenant(id)) || !(await identity.realm(id)))
        throw NoSystemOwner({ what: 'tenant', id })
      return ofTenant(id)
    },
    async applications(ctx, id, operation) {
      const notFound = () => NoSystemOwner({ what: 'application', id })
      if (!(await applications.exists(ctx, { name: id }))) throw notFound()
      const application = onResource(ctx.tenantId, applicationResource(id))
      authorizeOrNotFound(ctx, scopes('application', operation), application, notFound)
      return ofApplication(ctx.tenantId, id)
    },
    async versions(ctx, id, operation) {
      const notFound = () => NoSystemOwner({ what: 'application version', id })
      const version = await applications.findVersion(id)
      if (!version) throw notFound()
      const { tenantId, applicationName } = version
      const application = onResource(tenantId, applicationResource(applicationName))
      authorizeOrNotFound(ctx, scopes('application', operation), application, notFound)
      return ofVersion(tenantId, applicationName, id)
    },
    async endpoints(ctx, id, operation) {
      const notFound = () => NoSystemOwner({ what: 'endpoint', id })
      const endpoint = await register.find(id)
      if (!endpoint) throw notFound()
      authorizeOrNotFound(ctx, scopes('endpoint', operation), endpointResource(endpoint), notFound)
      const { tenantId, applicationName, versionName } = endpoint
      return [{ tenantId, level: 'ENDPOINT', entityId: id }, ...ofVersion(tenantId, applicationName, versionName)]
    },
  }
}
