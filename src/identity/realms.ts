/** Creates, changes and caches realms. */
import { createCache } from '../kernel/cache.ts'
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import { newSecret } from '../kernel/ids.ts'
import { createSingleFlight } from '../kernel/single-flight.ts'
import type { Identity, RealmReservation, RealmSpec, RealmStatus, RealmView, RoleSpec } from './contract.ts'
import { NoSuchRealm } from './errors.ts'
import { RealmChanged, RealmStatusChanged } from './events.ts'
import * as store from './store/realms.ts'
import type { Realm } from './types.ts'

const cachedMax = 2000
/** Minimum time between two reads of a realm, because every token with an unknown key id causes a read. */
const refreshMs = 1000
const realmsPath = '/auth/realms/'

export interface Realms extends Pick<Identity, 'reserveRealm' | 'buildRealm' | 'setRealmStatus' | 'realm' | 'realms'> {
  /** Returns the snapshot of a realm, from the cache if possible. Returns undefined if there is no such realm. */
  get(tenantId: string): Promise<Realm | undefined>
  /** Reads the realm again, at most once a second, because another node may have changed it. */
  refresh(tenantId: string): Promise<Realm | undefined>
  /** Publishes a change. It must be called in every transaction that changes the realm, its clients or its keys. */
  changed(sql: Sql, tenantId: string): Promise<void>
  issuerOf(tenantId: string): string
  /** Returns the tenant of an issuer; undefined for an external issuer. */
  tenantOfIssuer(issuer: string): string | undefined
  /** Creates a new secret of the backend client. The old secret stays valid for an hour. Returns undefined if there is no such client. */
  changeSecret(sql: Sql, tenantId: string, clientId: string): Promise<string | undefined>
}

type RealmDeps = Pick<Kit, 'db' | 'bus' | 'now' | 'secrets' | 'baseUrl'>

export function createRealms(deps: RealmDeps): Realms {
  const { db } = deps
  return {
    ...createSnapshots(deps),
    issuerOf: (tenantId) => issuerOf(deps, tenantId),
    changed: (sql, tenantId) => changed(deps, sql, tenantId),
    tenantOfIssuer(issuer) {
      const prefix = deps.baseUrl() + realmsPath
      const tenantId = issuer.startsWith(prefix) ? issuer.slice(prefix.length) : ''
      return isRealmName(tenantId) ? tenantId : undefined
    },
    async reserveRealm(sql, realm) {
      await ensure(deps, sql, realm)
      const view = (await views(deps, sql, [realm.tenantId])).get(realm.tenantId)
      if (!view) throw NoSuchRealm({ tenantId: realm.tenantId })
      return view
    },
    buildRealm: (sql, realm) => buildRealm(deps, sql, realm),
    setRealmStatus: (sql, tenantId, status) => setRealmStatus(deps, sql, tenantId, status),
    realm: async (tenantId) => (await views(deps, db.sql, [tenantId])).get(tenantId),
    realms: (tenantIds) => views(deps, db.sql, tenantIds),
    changeSecret: (sql, tenantId, clientId) => changeSecret(deps, sql, tenantId, clientId),
  }
}

/** Caches snapshots of realms and drops them when they change. */
function createSnapshots({ db, bus, now }: RealmDeps): Pick<Realms, 'get' | 'refresh'> {
  const cache = createCache<{ realm: Realm; refreshedAt: number }>({ max: cachedMax, bus })
  cache.dropOn(RealmChanged, ({ tenantId }) => tenantId)
  const once = createSingleFlight<Realm | undefined>()

  /** Reads a snapshot. Unknown names are not cached, so that invented names cannot evict real realms. */
  async function read(tenantId: string, refreshedAt = 0): Promise<Realm | undefined> {
    const known = await cache.read(tenantId, async () => {
      const realm = await store.findRealm(db.sql, tenantId)
      return realm && { realm, refreshedAt }
    })
    return known?.realm
  }

  return {
    get: (tenantId) => read(tenantId),
    async refresh(tenantId) {
      const known = cache.get(tenantId)
      const at = now().getTime()
      if (known && at - known.refreshedAt < refreshMs) return known.realm
      return await once(tenantId, () => {
        cache.drop(tenantId)
        return read(tenantId, at)
      })
    },
  }
}

const issuerOf = ({ baseUrl }: RealmDeps, tenantId: string) => `${baseUrl()}${realmsPath}${tenantId}`

async function changed({ bus }: RealmDeps, sql: Sql, tenantId: string) {
  await store.bumpRevision(sql, tenantId)
  await bus.publish(sql, RealmChanged, { tenantId })
}

const viewOf = (deps: RealmDeps, { secretSealed, ...realm }: store.RealmSummary): RealmView => ({
  tenantId: realm.tenantId,
  status: realm.status,
  issuer: issuerOf(deps, realm.tenantId),
  frontendClientId: realm.frontendClientId,
  backendClientId: realm.backendClientId,
  backendClientSecret: deps.secrets.open(secretSealed),
})

async function views(deps: RealmDeps, sql: Sql, tenantIds: string[]) {
  if (tenantIds.length === 0) return new Map<string, RealmView>()
  const rows = await store.findRealmSummaries(sql, tenantIds)
  return new Map(rows.map((row) => [row.tenantId, viewOf(deps, row)]))
}

/** Inserts the realm and its two clients, unless the realm already exists. */
async function ensure(
  { secrets }: RealmDeps,
  sql: Sql,
  { tenantId, frontendClientId, backendClientId }: RealmReservation,
) {
  const cookieKeySealed = secrets.seal(newSecret())
  const realm = { tenantId, status: 'CREATING' as const, frontendClientId, backendClientId, cookieKeySealed }
  if (!(await store.insertRealm(sql, realm))) return
  const nothing = { redirectUris: [], webOrigins: [], roles: [] }
  await store.upsertClient(sql, tenantId, { ...nothing, id: frontendClientId, kind: 'frontend', secretSealed: null })
  const secretSealed = secrets.seal(newSecret())
  await store.upsertClient(sql, tenantId, { ...nothing, id: backendClientId, kind: 'backend', secretSealed })
}

async function buildRealm(deps: RealmDeps, sql: Sql, realm: RealmSpec) {
  const { tenantId, frontendClient, backendClient } = realm
  await ensure(deps, sql, { tenantId, frontendClientId: frontendClient.id, backendClientId: backendClient.id })
  await store.lockRealm(sql, tenantId)
  await store.updateRealm(sql, fieldsOf(realm))
  await store.upsertClient(sql, tenantId, { ...frontendClient, kind: 'frontend', roles: [], secretSealed: null })
  await store.upsertClient(sql, tenantId, {
    ...backendClient,
    kind: 'backend',
    redirectUris: [],
    webOrigins: [],
    secretSealed: deps.secrets.seal(newSecret()),
  })
  await store.upsertBuiltInRoles(
    sql,
    tenantId,
    realm.roles.flatMap((role) => roleOf(tenantId, role)),
  )
  await store.replaceResources(sql, tenantId, realm.resources)
  await changed(deps, sql, tenantId)
}

async function setRealmStatus(deps: RealmDeps, sql: Sql, tenantId: string, status: RealmStatus) {
  const before = await store.lockRealm(sql, tenantId)
  if (before === status || (before === undefined && status === 'DELETED')) return
  if (before === undefined) throw NoSuchRealm({ tenantId })
  if (status === 'DELETED') await store.deleteRealm(sql, tenantId)
  else await store.updateStatus(sql, tenantId, status)
  await changed(deps, sql, tenantId)
  await deps.bus.publish(sql, RealmStatusChanged, { tenantId, status })
}

async function changeSecret(deps: RealmDeps, sql: Sql, tenantId: string, clientId: string) {
  const secret = newSecret()
  const now = deps.now()
  const oldUntil = new Date(now.getTime() + 3_600_000)
  const change = { tenantId, id: clientId, sealed: deps.secrets.seal(secret), now, oldUntil }
  if (!(await store.replaceSecret(sql, change))) return undefined
  await changed(deps, sql, tenantId)
  return secret
}

/** Checks the form of a realm name; other texts are not looked up in the database. */
export const isRealmName = (text: string) => /^[\w.~-]{1,255}$/.test(text)

const fieldsOf = (realm: RealmSpec) => ({
  tenantId: realm.tenantId,
  displayName: realm.displayName ?? null,
  loginTheme: realm.loginTheme ?? null,
  accessTokenSeconds: realm.accessTokenSeconds,
  refreshTokenSeconds: realm.refreshTokenSeconds,
  frontendClientId: realm.frontendClient.id,
  backendClientId: realm.backendClient.id,
})

/** Returns the row of a role. Outside of realm `platform`, roles and scopes on the platform are removed, whatever a template contains. */
function roleOf(tenantId: string, { name, description, on, scopes }: RoleSpec) {
  const ofPlatform = tenantId === 'platform'
  if (on === 'platform' && !ofPlatform) return []
  const isOnPlatform = (scope: string) => on === 'platform' || scope.startsWith('platform:')
  return [
    {
      name,
      description: description ?? null,
      scopes: scopes.filter((scope) => !isOnPlatform(scope)),
      platformScopes: ofPlatform ? scopes.filter(isOnPlatform) : [],
    },
  ]
}
