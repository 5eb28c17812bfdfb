/** Creates tokens: the first token of a new endpoint, and further tokens on request. */
import type { Ctx } from '../../../kernel/contract.ts'
import { isUniqueViolation, type Sql, TransactionConflictError } from '../../../kernel/db.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { newShortToken } from '../../../kernel/ids.ts'
import type { ProvisionedToken } from '../contract.ts'
import { NoEndpoint, TokenTaken, TooManyTokens } from '../errors.ts'
import * as store from '../store.ts'
import { requireScopeOn } from './access.ts'
import { publishDeleted } from './deletion.ts'
import type { TokenDeps } from './deps.ts'

/**
 * Maximum number of tokens of an endpoint. It limits responses that contain all tokens of an endpoint, and the statement that deletes all
 * these tokens.
 */
export const tokensMax = 1000

export interface NewToken {
  endpointId: string
  applicationName: string
  token?: string
}

/** Adds a token to an endpoint. */
export async function provision(deps: TokenDeps, ctx: Ctx, { endpointId, applicationName, token }: NewToken) {
  return await deps.kit.db.tx(async (sql) => {
    const locked = await store.lockEndpoint(sql, endpointId)
    const endpoint = requireScopeOn(ctx, 'endpoint:update', locked, () => NoEndpoint({ endpointId }))
    // Devices send a version of the endpoint's application with the token, so a token for another application could never be used.
    if (applicationName !== endpoint.applicationName)
      throw invalidField('applicationName', `must be ${endpoint.applicationName}, the application of the endpoint`)
    if ((await store.countTokens(sql, endpointId)) >= tokensMax) throw TooManyTokens({ endpointId, limit: tokensMax })
    const created = await insertFurther(deps, sql, endpoint, token)
    if (!created) throw TokenTaken({ applicationName })
    const { endpointTokenId, createdDate } = created
    return { endpointTokenId, createdDate, applicationName, token: created.token, status: 'Inactive' as const }
  })
}

interface Owner {
  tenantId: string
  applicationName: string
}

interface NewEndpoint {
  endpointId: string
  token?: string | undefined
}

/** Creates the first token of each endpoint. The result is `taken` if the given token already exists in the application. */
export async function provisionFirst(
  deps: TokenDeps,
  sql: Sql,
  owner: Owner,
  endpoints: NewEndpoint[],
): Promise<(ProvisionedToken | 'taken')[]> {
  const created = new Map<string, ProvisionedToken>()
  // An endpoint whose generated token was taken gets another token in the next round.
  for (let remaining = endpoints; remaining.length > 0; ) {
    const inserted = await insertFirst(deps, sql, owner, remaining)
    for (const { endpointId, token } of inserted) created.set(endpointId, { token, status: 'Inactive' })
    remaining = remaining.filter(({ endpointId, token }) => token === undefined && !created.has(endpointId))
  }
  return endpoints.map(({ endpointId }) => created.get(endpointId) ?? 'taken')
}

/** Inserts a token. Returns undefined if the given token is taken. If a generated token is taken, another token is generated. */
async function insertFurther({ kit, key }: TokenDeps, sql: Sql, endpoint: store.EndpointRow, requested?: string) {
  for (;;) {
    const token = requested ?? newShortToken()
    const tokenHash = await key.hashOf(sql, endpoint.applicationName, token)
    const row = { ...endpoint, endpointTokenId: kit.newId(), tokenHash, createdDate: kit.now() }
    if (await store.insertToken(sql, row)) return { ...row, token }
    if (requested !== undefined) return undefined
  }
}

/** Inserts new endpoints with their first tokens, except endpoints whose token is taken. */
async function insertFirst({ kit, key }: TokenDeps, sql: Sql, owner: Owner, endpoints: NewEndpoint[]) {
  const rows = new Map<string, store.FirstToken & { token: string }>()
  // If the key is loaded, it is not awaited, so that the insert is sent before other statements that the caller sends meanwhile.
  const hasher = key.hasher(sql)
  const hash = typeof hasher === 'function' ? hasher : await hasher
  for (const { endpointId, token = newShortToken() } of endpoints) {
    const tokenHash = hash(owner.applicationName, token)
    rows.set(endpointId, { endpointId, token, tokenHash, endpointTokenId: kit.newId() })
  }
  // A generated token, one of 62^10, is practically never taken, so the faster statement is used, which fails for a token that is taken.
  const isChosen = endpoints.some(({ token }) => token !== undefined)
  const insert = isChosen ? store.insertEndpointsWithChosenTokens : store.insertEndpointsWithTokens
  const request = { owner: { ...owner, createdDate: kit.now() }, tokens: [...rows.values()] }
  const inserted = await insert(sql, request).catch((error) => {
    throw isUniqueViolation(error)
      ? new TransactionConflictError('a generated token is taken, or another transaction has inserted an endpoint', {
          cause: error,
        })
      : error
  })
  for (const { endpointId, existed } of inserted)
    if (existed) {
      // The row remains from a deleted tenant, whose endpoints are deleted in batches. Its tokens must not become valid again.
      await store.saveEndpoint(sql, { endpointId, ...owner })
      await publishDeleted(kit.bus, sql, owner.tenantId, await store.deleteOtherTokens(sql, rows.get(endpointId)!))
    }
  return inserted.map(({ endpointId }) => rows.get(endpointId)!)
}
