/** Reads realms and grants from the tables of the identity service, for tests of services that create them. */
import { Identity } from '../../src/identity/contract.ts'
import type { Sql } from '../../src/kernel/db.ts'
import { aRealm } from './realms.ts'
import type { TestPlatform } from './test-platform.ts'

export interface RealmState {
  status: string
  displayName: string | null
  loginTheme: string | null
  accessTokenSeconds: number
  refreshTokenSeconds: number
  backendClient: { id: string; roles: string[] }
  roles: { name: string; scopes: string[]; platformScopes: string[] }[]
  resources: { name: string; type: string; displayName: string; scopes: string[] }[]
  users: { id: string; username: string; email?: string; firstName?: string; lastName?: string; roles: string[] }[]
}

export async function realmState(sql: Sql, tenantId: string): Promise<RealmState | undefined> {
  const [realm] = await sql`
    select status, display_name, login_theme, access_token_seconds, refresh_token_seconds, c.id, c.roles
    from identity.realms r join identity.clients c on c.tenant_id = r.tenant_id and c.id = r.backend_client_id
    where r.tenant_id = ${tenantId}`
  if (!realm) return undefined
  const { id, roles: clientRoles, ...rest } = realm
  const roles = await sql`
    select name, scopes, platform_scopes from identity.roles where tenant_id = ${tenantId} order by name`
  const resources = await sql`
    select name, type, display_name, scopes from identity.resources where tenant_id = ${tenantId} order by name`
  const users = await sql`
    select id, username, email, first_name, last_name, roles from identity.users
    where tenant_id = ${tenantId} order by created_at`
  const whole = { ...rest, backendClient: { id, roles: clientRoles }, roles, resources, users }
  return JSON.parse(JSON.stringify(whole)) as RealmState
}

export const grantsOn = (sql: Sql, resource: string) =>
  sql<{ tenantId: string; subjectId: string; scopes: string[] }[]>`
    select tenant_id, subject_id, scopes from identity.grants where resource = ${resource}`

/** Creates realms in the state AVAILABLE, for tests that need no further data of these tenants. */
export async function addRealms(waypost: Pick<TestPlatform, 'ask' | 'kit'>, ...tenantIds: string[]) {
  const identity = waypost.ask(Identity)
  for (const tenantId of tenantIds)
    await waypost.kit.db.tx(async (sql) => {
      await identity.buildRealm(sql, aRealm(tenantId))
      await identity.setRealmStatus(sql, tenantId, 'AVAILABLE')
    })
}
