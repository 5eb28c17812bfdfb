/** Makes tokens: the first one of a new endpoint, and further ones that callers ask for. */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { newShortToken } from '../../../kernel/ids.ts'
import type { ProvisionedToken } from '../contract.ts'
import { NoEndpoint, TokenTaken, TooManyTokens } from '../errors.ts'
import * as store from '../store.ts'
import { permitted } from './access.ts'
import { publishDeleted } from './deletion.ts'
import type { TokenDeps } from './deps.ts'

/** A list of all tokens is one answer, and all tokens of an endpoint are deleted in one statement. */
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
    const endpoint = permitted(ctx, 'endpoint:update', locked, () => NoEndpoint({ endpointId }))
    // Devices name a version of the endpoint's application: a token of another application could not be used.
    if (applicationName !== endpoint.applicationName)
      throw invalidField('applicationName', `must be ${endpoint.applicationName}, the application of the endpoint`)
    if ((await store.countTokens(sql, endpointId)) >= tokensMax) throw TooManyTokens({ endpointId, limit: tokensMax })
    const made = await insertFurther(deps, sql, endpoint, token)
    if (!made) throw TokenTaken({ applicationName })
    const { endpointTokenId, createdDate } = made
    return { endpointTokenId, createdDate, applicationName, token: made.token, status: 'Inactive' as const }
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

/** Makes the first token of each endpoint; `taken` where the caller's own text is taken. */
export async function provisionFirst(
  deps: TokenDeps,
  sql: Sql,
  of: Owner,
  endpoints: NewEndpoint[],
): Promise<(ProvisionedToken | 'taken')[]> {
  const made = new Map<string, ProvisionedToken>()
  // Repeats for generated texts that are taken.
  for (let left = endpoints; left.length > 0; ) {
    const inserted = await insertFirst(deps, sql, of, left)
    for (const { endpointId, token } of inserted) made.set(endpointId, { token, status: 'Inactive' })
    left = left.filter(({ endpointId, token }) => token === undefined && !made.has(endpointId))
  }
  return endpoints.map(({ endpointId }) => made.get(endpointId) ?? 'taken')
}

/** Undefined when the given text is taken; a generated text that is taken is made anew. */
async function insertFurther({ kit, key }: TokenDeps, sql: Sql, endpoint: store.EndpointRow, given?: string) {
  for (;;) {
    const token = given ?? newShortToken()
    const tokenHash = await key.hashOf(sql, endpoint.applicationName, token)
    const row = { ...endpoint, endpointTokenId: kit.newId(), tokenHash, createdDate: kit.now() }
    if (await store.insertToken(sql, row)) return { ...row, token }
    if (given !== undefined) return undefined
  }
}

/** Inserts new endpoints with their first tokens; leaves out those whose token is taken. */
async function insertFirst({ kit, key }: TokenDeps, sql: Sql, of: Owner, endpoints: NewEndpoint[]) {
  const rows = new Map<string, store.FirstToken & { token: string }>()
  for (const { endpointId, token = newShortToken() } of endpoints) {
    const tokenHash = await key.hashOf(sql, of.applicationName, token)
    rows.set(endpointId, { endpointId, token, tokenHash, endpointTokenId: kit.newId() })
  }
  const inserted = await store.insertEndpointsWithTokens(sql, { ...of, createdDate: kit.now() }, [...rows.values()])
  for (const { endpointId, known } of inserted)
    if (known) {
      // Left by a deleted tenant, whose endpoints are deleted in parts: its tokens must not admit the new endpoint.
      await store.saveEndpoint(sql, { endpointId, ...of })
      await publishDeleted(kit.bus, sql, of.tenantId, await store.deleteOtherTokens(sql, rows.get(endpointId)!))
    }
  return inserted.map(({ endpointId }) => rows.get(endpointId)!)
}
