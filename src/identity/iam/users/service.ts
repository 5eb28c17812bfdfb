import { authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField, NotFound } from '../../../kernel/errors.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import { rowsOfPage } from '../../../kernel/page-parts.ts'
import { type Window, windowOf } from '../../../kernel/paging.ts'
import { onTenant } from '../../../kernel/permissions.ts'
import type { Accounts } from '../../accounts.ts'
import { AccessChanged, PasswordChanged } from '../../events.ts'
import type { PasswordRule } from '../../password-rule.ts'
import type { Passwords } from '../../passwords.ts'
import { platformTenant } from '../../scopes.ts'
import type { SecondFactors } from '../../second-factors/factors.ts'
import type { Sessions } from '../../sessions.ts'
import { lockRealm } from '../../store/realms.ts'
import {
  countUsers,
  findTakenName,
  findUser,
  findUserIds,
  findUsers,
  findUsersById,
  lockUser,
} from '../../store/users.ts'
import type { User } from '../../types.ts'
import { LastAdministrator, NameTaken, UsernameTaken } from '../errors.ts'
import { requirePermissionsOfRoles, requirePermissionsOfSubject } from '../escalation.ts'
import type { NewUser, UserChange } from './schemas.ts'
import * as store from './store.ts'

const rowsPerPart = 1000

const unique = (names: readonly string[]) => [...new Set(names)]
const administratorRole = (tenantId: string) => (tenantId === platformTenant ? 'platform-admin' : 'tenant-admin')
const isAdministrator = (tenantId: string, { enabled, roles }: Pick<User, 'enabled' | 'roles'>) =>
  enabled && roles.includes(administratorRole(tenantId))

/** Removes undefined fields. */
const definedFields = (fields: { [K in keyof store.UserFields]: store.UserFields[K] | undefined }) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<store.UserFields>
const notFound = (id: string) => () => NotFound({ what: `User ${id}` })

interface Deps extends Pick<Kit, 'db' | 'bus' | 'now' | 'newId'> {
  passwords: Passwords
  sessions: Sessions
  accounts: Accounts
  passwordRule: PasswordRule
  secondFactors: SecondFactors
}

export type Users = ReturnType<typeof createUsers>

export function createUsers(
  { db, bus, now, newId }: Pick<Kit, 'db' | 'bus' | 'now' | 'newId'>,
  parts: Omit<Deps, keyof Kit>,
) {
  const deps: Deps = { db, bus, now, newId, ...parts }
  return {
    async list(ctx: Ctx, { search, ...page }: { search?: string; offset: number; limit: number }) {
      const { tenantId } = ctx
      const filterOf = (window: Window) => ({ ...window, ...(search !== undefined && { search }) })
      const window = windowOf(page)
      const items = rowsOfPage(window, {
        rowsPerPart,
        rows: (part) => findUsers(db.sql, tenantId, filterOf(part)),
        ids: (part) => findUserIds(db.sql, tenantId, filterOf(part)),
        byIds: (ids) => findUsersById(db.sql, tenantId, ids),
      })
      return { totalElements: await countUsers(db.sql, tenantId, filterOf(window)), items }
    },
    create: (ctx: Ctx, user: NewUser) => createUser(deps, ctx, user),
    async read(ctx: Ctx, id: string) {
      authorizeUser(ctx, 'read', id)
      return await findOrThrow(db.sql, ctx, id)
    },
    update: (ctx: Ctx, id: string, changes: UserChange, ifMatch?: string) =>
      changeUser(deps, ctx, id, changes, ifMatch),
    setPassword: (ctx: Ctx, id: string, password: string) => changeUser(deps, ctx, id, { password }),
    setRoles: (ctx: Ctx, id: string, roles: string[], ifMatch?: string) =>
      changeUser(deps, ctx, id, { roles }, ifMatch),
    async delete(ctx: Ctx, id: string, ifMatch?: string) {
      authorizeUser(ctx, 'delete', id)
      const removed = await db.tx((sql) =>
        removeUser(deps, sql, ctx.tenantId, id, async (user) => {
          await requirePermissionsOf(ctx, sql, id)
          checkIfMatch(ifMatch, etagOf(user))
        }),
      )
      if (!removed) throw notFound(id)()
    },
    async secondFactors(ctx: Ctx, id: string) {
      authorizeUser(ctx, 'read', id)
      await findOrThrow(db.sql, ctx, id)
      const factors = await parts.secondFactors.find(ctx.tenantId, id)
      return {
        content: factors.map(({ id: factorId, kind, name, createdAt, lastUsedAt }) => ({
          id: factorId,
          kind,
          name,
          createdAt,
          ...(lastUsedAt && { lastUsedAt }),
        })),
        recoveryCodes: await parts.secondFactors.countRecoveryCodes(ctx.tenantId, id),
      }
    },
    async removeSecondFactors(ctx: Ctx, id: string) {
      authorizeUser(ctx, 'update', id)
      await db.tx(async (sql) => {
        await lockUser(sql, ctx.tenantId, id)
        await findOrThrow(sql, ctx, id)
        await requirePermissionsOf(ctx, sql, id)
        await parts.secondFactors.removeAll(sql, ctx.tenantId, id)
        await parts.sessions.endSessions(sql, ctx.tenantId, { userId: id })
      })
    },
    /**
     * Deletes a user for other services. Returns false if there is no such user. If `ctx` is given and the user has a permission that the
     * caller lacks, throws 403.
     */
    remove: (sql: Sql, tenantId: string, id: string, ctx?: Ctx) =>
      removeUser(deps, sql, tenantId, id, async () => {
        if (ctx) await requirePermissionsOf({ ...ctx, signal: ctx.signal, tenantId }, sql, id)
      }),
  }
}

const authorizeUser = (ctx: Ctx, verb: 'read' | 'update' | 'delete', id: string) =>
  authorizeOrNotFound(
    ctx,
    { read: 'identity:user:read', scope: `identity:user:${verb}` },
    onTenant(ctx.tenantId),
    notFound(id),
  )
const findOrThrow = async (sql: Sql, ctx: Ctx, id: string) => {
  const user = await findUser(sql, ctx.tenantId, id)
  if (!user) throw notFound(id)()
  return user
}

const publishChange = ({ bus }: Deps, sql: Sql, tenantId: string, id: string) =>
  bus.publish(sql, AccessChanged, { tenantId, subject: { type: 'user', id } })

/** Requires every permission of another user, because the caller is about to take over, lock out or delete that user's account. */
async function requirePermissionsOf(ctx: Ctx, sql: Sql, id: string) {
  const { type, id: callerId } = ctx.caller.subject
  if (!(type === 'user' && callerId === id)) await requirePermissionsOfSubject(ctx, sql, { type: 'user', id })
}

/** Returns whether a change affects how, or whether, the user logs in, or removes a role. */
const affectsLogin = (user: User, { password, username, email, enabled, roles }: UserChange) =>
  password !== undefined ||
  (username !== undefined && username !== user.username) ||
  (email !== undefined && email !== (user.email ?? null)) ||
  (enabled !== undefined && enabled !== user.enabled) ||
  (roles !== undefined && user.roles.some((role) => !roles.includes(role)))

/** Throws 409 if another user logs in by one of these names. The realm must be locked, to exclude concurrent changes. */
async function rejectTakenNames(sql: Sql, tenantId: string, id: string, names: Pick<UserChange, 'username' | 'email'>) {
  const name = await findTakenName(sql, tenantId, id, names)
  if (name !== undefined) throw NameTaken({ name })
}

/** Throws 409 if the change would leave the realm without an enabled administrator. */
async function rejectLastAdministrator(
  sql: Sql,
  tenantId: string,
  before: User,
  after: Pick<User, 'enabled' | 'roles'>,
) {
  if (!isAdministrator(tenantId, before) || isAdministrator(tenantId, after)) return
  const role = administratorRole(tenantId)
  if ((await store.countOtherHolders(sql, tenantId, role, before.id)) === 0) throw LastAdministrator({ role })
}

async function rejectBadPassword(
  { passwordRule }: Deps,
  password: string | undefined,
  user: { username: string; email?: string | null | undefined },
) {
  const problem = password === undefined ? undefined : await passwordRule.problemOf(password, user)
  if (problem !== undefined) throw invalidField('password', problem)
}

async function createUser(deps: Deps, ctx: Ctx, user: NewUser): Promise<User> {
  const { db, newId, passwords } = deps
  const roles = unique(user.roles ?? [])
  // The roles are checked before the password is hashed, which is slow. The transaction checks them again.
  await requirePermissionsOfRoles(ctx, db.sql, roles)
  await rejectBadPassword(deps, user.password, user)
  const passwordHash = user.password === undefined ? null : await passwords.hash(user.password, ctx.tenantId)
  const id = newId()
  const fields: store.UserFields = {
    username: user.username,
    email: user.email ?? null,
    firstName: user.firstName ?? null,
    lastName: user.lastName ?? null,
    passwordHash,
    enabled: user.enabled ?? true,
    roles,
  }
  return await db.tx(async (sql) => {
    await lockRealm(sql, ctx.tenantId)
    await requirePermissionsOfRoles(ctx, sql, roles)
    await rejectTakenNames(sql, ctx.tenantId, id, user)
    if (!(await store.insertUser(sql, { tenantId: ctx.tenantId, id, ...fields })))
      throw UsernameTaken({ username: user.username })
    return await findOrThrow(sql, ctx, id)
  })
}

async function changeUser(deps: Deps, ctx: Ctx, id: string, changes: UserChange, ifMatch?: string) {
  const { db, bus, now, passwords, sessions } = deps
  authorizeUser(ctx, 'update', id)
  // Only these fields are used, so that no other field of the body can reach a column.
  const { password, username, email, firstName, lastName, enabled } = changes
  // Hashing is slow, so it is done before the transaction takes a connection.
  const known = await findOrThrow(db.sql, ctx, id)
  if (affectsLogin(known, changes)) await requirePermissionsOf(ctx, db.sql, id)
  await rejectBadPassword(deps, password, { username: username ?? known.username, email: email ?? known.email })
  const passwordHash = password === undefined ? undefined : await passwords.hash(password, ctx.tenantId)
  const roles = changes.roles && unique(changes.roles)
  await db.tx(async (sql) => {
    const isRenamed = username !== undefined || typeof email === 'string'
    if (isRenamed || isAdministrator(ctx.tenantId, known)) await lockRealm(sql, ctx.tenantId)
    await lockUser(sql, ctx.tenantId, id)
    const user = await findOrThrow(sql, ctx, id)
    if (affectsLogin(user, changes)) await requirePermissionsOf(ctx, sql, id)
    checkIfMatch(ifMatch, etagOf(user))
    await rejectTakenNames(sql, ctx.tenantId, id, {
      ...(username !== user.username && { username }),
      ...(email !== user.email && { email }),
    })
    if (roles) {
      const added = roles.filter((role) => !user.roles.includes(role))
      await requirePermissionsOfRoles(ctx, sql, added)
    }
    const after = { enabled: enabled ?? user.enabled, roles: roles ?? user.roles }
    await rejectLastAdministrator(sql, ctx.tenantId, user, after)
    const fields = definedFields({ username, email, firstName, lastName, enabled, roles, passwordHash })
    if (!(await store.updateUser(sql, ctx.tenantId, id, fields, now())))
      throw UsernameTaken({ username: username ?? '' })
    if (passwordHash !== undefined || !after.enabled) await sessions.endSessions(sql, ctx.tenantId, { userId: id })
    if (passwordHash !== undefined)
      await bus.publish(sql, PasswordChanged, { tenantId: ctx.tenantId, username: user.username })
    await publishChange(deps, sql, ctx.tenantId, id)
  })
}

async function removeUser(
  deps: Deps,
  sql: Sql,
  tenantId: string,
  id: string,
  check: (user: User) => Promise<void> = async () => {},
): Promise<boolean> {
  const known = await findUser(sql, tenantId, id)
  if (!known) return false
  if (isAdministrator(tenantId, known)) await lockRealm(sql, tenantId)
  await lockUser(sql, tenantId, id)
  const user = await findUser(sql, tenantId, id)
  if (!user) return false
  await check(user)
  await rejectLastAdministrator(sql, tenantId, user, { enabled: false, roles: [] })
  await store.deleteKeyGrantsOf(sql, tenantId, id)
  const removed = await deps.accounts.deleteUser(sql, tenantId, id)
  if (removed) await publishChange(deps, sql, tenantId, id)
  return removed
}
