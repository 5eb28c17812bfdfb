/** Operations of a caller on its own account: profile, sessions, preferences. They need no scopes. */
import { decodeJwt } from 'jose'
import type { Caller, Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField, NotFound } from '../../../kernel/errors.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import { everyScope, holds, onPlatform, onTenant } from '../../../kernel/permissions.ts'
import type { Core } from '../../core.ts'
import { NoSuchRealm } from '../../errors.ts'
import { canonicalScope } from '../../scopes.ts'
import { findLogins } from '../../store/logins.ts'
import { findUser } from '../../store/users.ts'
import { UsersOnly } from '../errors.ts'
import type { Preferences, Profile, Session } from './schemas.ts'
import * as store from './store.ts'

type Deps = Pick<Kit, 'db' | 'now' | 'scopes'> & { core: Core }

export type Me = ReturnType<typeof createMe>

export function createMe({ db, now, scopes }: Pick<Kit, 'db' | 'now' | 'scopes'>, core: Core) {
  const deps: Deps = { db, now, scopes, core }
  return {
    profile: (ctx: Ctx) => profileOf(deps, ctx),
    sessions: (ctx: Ctx, authorization: string | undefined) => listSessions(deps, ctx, authorization),
    async endSession(ctx: Ctx, id: string) {
      const userId = userOf(ctx)
      const isEnded = await db.tx((sql) => core.sessions.endLoginOf(sql, ctx.tenantId, userId, id))
      if (!isEnded) throw NotFound({ what: `Session ${id}` })
    },
    async endOtherSessions(ctx: Ctx, authorization: string | undefined) {
      const userId = userOf(ctx)
      await db.tx((sql) => core.sessions.endOtherLogins(sql, ctx.tenantId, userId, sidOf(authorization)))
    },
    async preferences(ctx: Ctx) {
      return withEtag(await store.findPreferences(db.sql, ctx.tenantId, userOf(ctx)))
    },
    async setPreferences(ctx: Ctx, preferences: Preferences, ifMatch: string | undefined) {
      const userId = userOf(ctx)
      const document = documentOf(preferences)
      return await db.tx(async (sql) => {
        await store.lockPreferences(sql, ctx.tenantId, userId)
        checkIfMatch(ifMatch, withEtag(await store.findPreferences(sql, ctx.tenantId, userId)).etag)
        await store.upsertPreferences(sql, ctx.tenantId, userId, document, now())
        return withEtag(await store.findPreferences(sql, ctx.tenantId, userId))
      })
    },
  }
}

function userOf({ caller }: Ctx): string {
  if (caller.subject.type !== 'user') throw UsersOnly()
  return caller.subject.id
}

/** Returns the id of the login (`sid`) in the caller's access token. The token was verified before. */
function sidOf(authorization: string | undefined): string | undefined {
  const [, token] = /^Bearer\s+(\S+)$/i.exec(authorization ?? '') ?? []
  try {
    const sid = token === undefined ? undefined : decodeJwt(token).sid
    return typeof sid === 'string' ? sid : undefined
  } catch {
    // A token that is not a JWT belongs to no login.
    return undefined
  }
}

async function profileOf(deps: Deps, { tenantId, caller }: Ctx): Promise<Profile> {
  const { db, core } = deps
  const realm = await core.realms.get(tenantId)
  const isUser = caller.subject.type === 'user'
  const user = isUser ? await findUser(db.sql, tenantId, caller.subject.id) : undefined
  const username = user?.username ?? caller.username
  const email = user ? user.email : caller.email
  return {
    tenantId,
    tenantName: realm?.displayName ?? tenantId,
    subject: caller.subject,
    ...(username !== undefined && { username }),
    ...(email !== undefined && { email }),
    ...(user?.firstName !== undefined && { firstName: user.firstName }),
    ...(user?.lastName !== undefined && { lastName: user.lastName }),
    roles: [...caller.roles],
    ...(user && realm && { secondFactor: await secondFactorOf(deps, tenantId, user.id, realm.secondFactor) }),
    scopes: effectiveScopes(deps, tenantId, caller),
  }
}

async function secondFactorOf({ core }: Deps, tenantId: string, userId: string, rule: 'off' | 'optional' | 'required') {
  const { find, countRecoveryCodes } = core.secondFactors
  const [factors, recoveryCodes] = await Promise.all([find(tenantId, userId), countRecoveryCodes(tenantId, userId)])
  const names = factors.map(({ kind, name, createdAt, lastUsedAt }) => ({
    kind,
    name,
    createdAt,
    ...(lastUsedAt && { lastUsedAt }),
  }))
  return { rule, factors: names, recoveryCodes }
}

/** Returns each declared scope that the caller has, with the widest resource on which the caller has it. */
function effectiveScopes({ scopes }: Deps, tenantId: string, caller: Caller): Profile['scopes'] {
  const onResources = new Set<string>()
  for (const { scopes: held } of caller.permissions) for (const scope of held) onResources.add(canonicalScope(scope))
  const isHeldSomewhere = (scope: string) => onResources.has(scope) || onResources.has(everyScope)
  return [...scopes.keys()].flatMap((scope): Profile['scopes'] => {
    if (holds(caller, scope, onPlatform)) return [{ scope, on: 'platform' }]
    if (holds(caller, scope, onTenant(tenantId))) return [{ scope, on: 'tenant' }]
    return isHeldSomewhere(scope) ? [{ scope, on: 'resources' }] : []
  })
}

async function listSessions({ db, now, core }: Deps, ctx: Ctx, authorization: string | undefined) {
  const userId = userOf(ctx)
  const realm = await core.realms.get(ctx.tenantId)
  if (!realm) throw NoSuchRealm({ tenantId: ctx.tenantId })
  const current = sidOf(authorization)
  const rows = await findLogins(db.sql, ctx.tenantId, userId, now(), realm.accessTokenSeconds)
  const dateOf = (seconds: number) => new Date(seconds * 1000)
  const content = rows.map(
    ({ id, clientId, address, userAgent, startedAt, lastUsedAt, expiresAt }): Session => ({
      id,
      current: id === current,
      ...(clientId !== null && { clientId }),
      ...(address !== null && { address }),
      ...(userAgent !== null && { userAgent }),
      ...(startedAt !== null && { startedAt: dateOf(startedAt) }),
      ...(lastUsedAt !== null && { lastUsedAt: dateOf(lastUsedAt) }),
      expiresAt,
    }),
  )
  return { content }
}

/** Makes the checks that a schema cannot express, and returns only the declared fields. */
function documentOf({ zone, language, theme, columns, views, other }: Preferences): Preferences {
  if (zone !== undefined && !isZone(zone)) throw invalidField('zone', 'expected a time zone such as Europe/Berlin')
  return {
    ...(zone !== undefined && { zone }),
    ...(language !== undefined && { language }),
    ...(theme !== undefined && { theme }),
    ...(columns !== undefined && { columns }),
    ...(views !== undefined && { views: views.map(({ name, page, query }) => ({ name, page, query })) }),
    ...(other !== undefined && { other }),
  }
}

function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return true
  } catch {
    return false
  }
}

const withEtag = (found: object | undefined) => {
  const preferences = (found ?? {}) as Preferences
  return { preferences, etag: etagOf(preferences) }
}
