import { inParts } from '../../kernel/bus.ts'
import type { Ctx } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { invalidField } from '../../kernel/errors.ts'
import { gather } from '../../kernel/gather.ts'
import { newShortToken } from '../../kernel/ids.ts'
import { defineJob } from '../../kernel/jobs.ts'
import type { Window } from '../../kernel/paging.ts'
import { holds, onResource } from '../../kernel/permissions.ts'
import type { Applications } from '../applications/contract.ts'
import { type ProvisionedToken, type Tokens, tokenLengthMax } from './contract.ts'
import { NoEndpoint, NoToken, StatusMoveRefused, TokenTaken, TooManyTokens } from './errors.ts'
import { TenantTokensDeleted, TokenStatusChanged, TokensDeleted } from './events.ts'
import { createLookupKey } from './lookup-key.ts'
import { createMemory } from './memory.ts'
import { isValid, mayMove, possibleFrom, type TargetStatus, type TokenStatus, tokenStatuses } from './states.ts'
import * as store from './store.ts'

export interface TokenView {
  endpointTokenId: string
  status: TokenStatus
  createdDate: Date
  applicationName: string
  updatedDate?: Date
}

export interface TokensService {
  list(
    ctx: Ctx,
    of: { endpointId: string; statuses?: readonly TokenStatus[] | undefined; order: 'ASC' | 'DESC' } & Window,
  ): Promise<{ totalElements: number; content: TokenView[] }>
  provision(
    ctx: Ctx,
    input: { endpointId: string; applicationName: string; token?: string },
  ): Promise<TokenView & { token: string; status: 'Inactive' }>
  read(ctx: Ctx, place: store.TokenPlace): Promise<TokenView>
  delete(ctx: Ctx, place: store.TokenPlace): Promise<void>
  setStatus(ctx: Ctx, place: store.TokenPlace, status: TargetStatus): Promise<void>
  /** With this transaction it is certain; the work itself takes its time. */
  forgetTenant(sql: Sql, tenantId: string): Promise<void>
  start(): Promise<void>
  api: Tokens
}

type Scope = 'endpoint:read' | 'endpoint:update'

/** A list of all is one answer, and all tokens of an endpoint go with it at once. */
export const tokensMax = 1000

const ForgetTenant = defineJob<{ tenantId: string }>('tokens.forget-tenant', { timeoutSeconds: 3600 })
const forgottenAtOnce = 5000
const activatedAtOnce = 128
const activatedEveryMs = 3

export function createTokens(kit: Kit, applications: Applications): TokensService {
  const { db, bus, jobs, now, newId } = kit
  const key = createLookupKey(kit)
  const memory = createMemory(bus, (lookups) => store.findByHash(db.sql, lookups))

  jobs.handle(ForgetTenant, async ({ tenantId }) => {
    // In parts: a tenant can leave a million endpoints, and everybody hears of its end.
    while ((await db.tx((sql) => store.deleteOfTenant(sql, tenantId, forgottenAtOnce))) > 0);
    await db.tx((sql) => bus.publish(sql, TenantTokensDeleted, { tenantId }))
  })

  /** A further token of an endpoint; a generated text that is taken is made anew. */
  async function insertFurther(sql: Sql, endpoint: store.EndpointRow, given: string | undefined) {
    for (;;) {
      const token = given ?? newShortToken()
      const tokenHash = await key.hashOf(sql, endpoint.applicationName, token)
      const row = { ...endpoint, endpointTokenId: newId(), tokenHash, createdDate: now() }
      if (await store.insertToken(sql, row)) return { ...row, token }
      if (given !== undefined) return undefined
    }
  }

  /** New endpoints with their first tokens; those whose token is taken are missing. */
  async function insertFirst(
    sql: Sql,
    of: { tenantId: string; applicationName: string },
    endpoints: { endpointId: string; token?: string | undefined }[],
  ) {
    const rows = new Map<string, store.FirstToken & { token: string }>()
    for (const { endpointId, token = newShortToken() } of endpoints) {
      const tokenHash = await key.hashOf(sql, of.applicationName, token)
      rows.set(endpointId, { endpointId, token, tokenHash, endpointTokenId: newId() })
    }
    const inserted = await store.insertEndpointsWithTokens(sql, { ...of, createdDate: now() }, [...rows.values()])
    for (const { endpointId, known } of inserted)
      if (known) {
        // Left by a deleted tenant, whose endpoints go in parts: it must not be let in as the new endpoint.
        await store.saveEndpoint(sql, { endpointId, ...of })
        await tellDeleted(sql, of.tenantId, await store.deleteOtherTokens(sql, rows.get(endpointId)!))
      }
    return inserted.map(({ endpointId }) => rows.get(endpointId)!)
  }

  async function tellDeleted(sql: Sql, tenantId: string, tokens: store.DeletedToken[]) {
    for (const some of inParts(tokens)) await bus.publish(sql, TokensDeleted, { tenantId, tokens: some })
  }

  async function move(sql: Sql, token: store.KnownToken, to: TokenStatus): Promise<boolean> {
    const { tenantId, applicationName, endpointId, endpointTokenId, tokenHash, status: from } = token
    if (!(await store.moveToken(sql, token, { from, to, at: now() }))) return false
    const payload = { tenantId, applicationName, endpointId, endpointTokenId, tokenHash, from, to }
    await bus.publish(sql, TokenStatusChanged, payload)
    return true
  }

  /** Devices that speak for the first time come by the thousand: they share transactions. */
  const activate = gather<store.KnownToken, boolean>(
    async (tokens) => {
      const [from, to] = ['Inactive', 'Active'] as const
      const moved = await db.tx(async (sql) => {
        const rows = await store.moveTokens(sql, tokens, { from, to, at: now() })
        await bus.publishAll(
          sql,
          TokenStatusChanged,
          rows.map((token) => ({ ...token, from, to })),
        )
        return new Set(rows.map(({ endpointTokenId }) => endpointTokenId))
      })
      return tokens.map(({ endpointTokenId }) => moved.has(endpointTokenId))
    },
    activatedAtOnce,
    activatedEveryMs,
  )

  return {
    async list(ctx, { endpointId, statuses = tokenStatuses, ...of }) {
      permitted(ctx, 'endpoint:read', await store.findEndpoint(db.sql, endpointId), () => NoEndpoint({ endpointId }))
      const { total, tokens } = await store.findTokens(db.sql, { endpointId, statuses, ...of })
      return { totalElements: total, content: tokens.map(viewOf) }
    },

    async provision(ctx, { endpointId, applicationName, token }) {
      return await db.tx(async (sql) => {
        const locked = await store.lockEndpoint(sql, endpointId)
        const endpoint = permitted(ctx, 'endpoint:update', locked, () => NoEndpoint({ endpointId }))
        // Devices name a version of the application that the endpoint belongs to: a token for another could not be used.
        if (applicationName !== endpoint.applicationName)
          throw invalidField('applicationName', `must be ${endpoint.applicationName}, the application of the endpoint`)
        if ((await store.countTokens(sql, endpointId)) >= tokensMax)
          throw TooManyTokens({ endpointId, limit: tokensMax })
        const made = await insertFurther(sql, endpoint, token)
        if (!made) throw TokenTaken({ applicationName })
        const { endpointTokenId, createdDate } = made
        return { endpointTokenId, createdDate, applicationName, token: made.token, status: 'Inactive' }
      })
    },

    async read(ctx, place) {
      return viewOf(permitted(ctx, 'endpoint:read', await store.findToken(db.sql, place), () => NoToken({ ...place })))
    },

    async delete(ctx, place) {
      await db.tx(async (sql) => {
        const token = permitted(ctx, 'endpoint:update', await store.lockToken(sql, place), () => NoToken({ ...place }))
        await store.deleteToken(sql, place)
        const { endpointId, endpointTokenId, tokenHash } = token
        await tellDeleted(sql, token.tenantId, [{ endpointId, endpointTokenId, tokenHash }])
      })
    },

    async setStatus(ctx, place, to) {
      await db.tx(async (sql) => {
        const token = permitted(ctx, 'endpoint:update', await store.lockToken(sql, place), () => NoToken({ ...place }))
        if (token.status === to) return
        if (!mayMove(token.status, to, 'people'))
          throw StatusMoveRefused({ from: token.status, to, possible: possibleFrom(token.status) })
        await move(sql, token, to)
      })
    },

    forgetTenant: (sql, tenantId) => jobs.send(sql, ForgetTenant, { tenantId }),

    start: key.prepare,

    api: {
      async provision(sql, of, endpoints) {
        const made = new Map<string, ProvisionedToken>()
        // A generated text that is taken is made anew.
        for (let left = endpoints; left.length > 0; ) {
          const inserted = await insertFirst(sql, of, left)
          for (const { endpointId, token } of inserted) made.set(endpointId, { token, status: 'Inactive' })
          left = left.filter(({ endpointId, token }) => token === undefined && !made.has(endpointId))
        }
        return endpoints.map(({ endpointId }) => made.get(endpointId) ?? 'taken')
      },

      async forget(sql, tenantId, endpointIds) {
        await tellDeleted(sql, tenantId, await store.deleteEndpoints(sql, tenantId, endpointIds))
      },

      mayTalk: (endpointId) => store.hasToken(db.sql, endpointId, tokenStatuses.filter(isValid)),

      async validate({ token, versionName }) {
        // Characters, as in the shapes: a character may be two units long.
        if (token.length > 2 * tokenLengthMax || [...token].length > tokenLengthMax) return undefined
        const version = await applications.findVersion(versionName)
        if (!version) return undefined
        const { applicationName } = version
        const tokenHash = await key.hashOf(db.sql, applicationName, token)
        for (;;) {
          const found = await memory.find({ applicationName, tokenHash })
          // The name of a deleted application may by now be another tenant's.
          if (!found || found.tenantId !== version.tenantId || !isValid(found.status)) return undefined
          const { tenantId, endpointId, endpointTokenId } = found
          if (found.status === 'Active' || (await activate(found)))
            return { tenantId, applicationName, endpointId, endpointTokenId }
          // Somebody was faster, perhaps in a process whose word is still on its way.
          memory.drop(tokenHash)
        }
      },
    },
  }
}

/** What the caller may do this with; anything else is as if it were not there. */
function permitted<E extends store.EndpointRow>(ctx: Ctx, scope: Scope, found: E | undefined, missing: () => Error): E {
  if (!found) throw missing()
  const { tenantId, applicationName, endpointId } = found
  const resource = onResource(tenantId, `application-${applicationName}`, `endpoint-${endpointId}`)
  if (!holds(ctx.caller, scope, resource)) throw missing()
  return found
}

const viewOf = ({ endpointTokenId, status, createdDate, applicationName, updatedDate }: store.TokenRow): TokenView => ({
  endpointTokenId,
  status,
  createdDate,
  applicationName,
  ...(updatedDate !== null && { updatedDate }),
})
