/** The operations on tokens, which routes, event handlers and other services call. */
import type { Ctx } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { Window } from '../../kernel/paging.ts'
import type { Applications } from '../applications/contract.ts'
import { createTokenCache } from './cache.ts'
import type { Tokens } from './contract.ts'
import { NoEndpoint, NoToken } from './errors.ts'
import { createLookupKey } from './lookup-key.ts'
import { requireScopeOn } from './service/access.ts'
import { DeleteTenantTokens, deleteToken, deleteTokensOfEndpoints, deleteTokensOfTenant } from './service/deletion.ts'
import type { TokenDeps } from './service/deps.ts'
import { type NewToken, provision, provisionFirst } from './service/provisioning.ts'
import { createActivate, setStatus } from './service/status.ts'
import { examine, validate } from './service/validation.ts'
import { isValid, type TargetStatus, type TokenStatus, tokenStatuses } from './states.ts'
import * as store from './store.ts'

export interface TokenView {
  endpointTokenId: string
  status: TokenStatus
  createdDate: Date
  applicationName: string
  updatedDate?: Date
}

interface TokenList extends Window {
  endpointId: string
  statuses?: readonly TokenStatus[] | undefined
  order: 'ASC' | 'DESC'
}

export interface TokensService {
  list(ctx: Ctx, query: TokenList): Promise<{ totalElements: number; content: TokenView[] }>
  provision(ctx: Ctx, input: NewToken): Promise<TokenView & { token: string; status: 'Inactive' }>
  read(ctx: Ctx, ref: store.TokenRef): Promise<TokenView>
  delete(ctx: Ctx, ref: store.TokenRef): Promise<void>
  setStatus(ctx: Ctx, ref: store.TokenRef, status: TargetStatus): Promise<void>
  /** Enqueues the deletion of all the tenant's tokens. */
  enqueueTenantDeletion(sql: Sql, tenantId: string): Promise<void>
  start(): Promise<void>
  api: Tokens
}

export function createTokens(kit: Kit, applications: Applications): TokensService {
  const { db, bus, jobs } = kit
  const key = createLookupKey(kit)
  const cache = createTokenCache(bus, (lookups) => store.findByHash(db.sql, lookups))
  const deps = { kit, applications, key, cache, activate: createActivate(kit) }
  jobs.handle(DeleteTenantTokens, ({ tenantId }) => deleteTokensOfTenant(deps, tenantId))
  return {
    list: (ctx, query) => list(deps, ctx, query),
    provision: (ctx, input) => provision(deps, ctx, input),
    read: (ctx, ref) => read(deps, ctx, ref),
    delete: (ctx, ref) => deleteToken(deps, ctx, ref),
    setStatus: (ctx, ref, status) => setStatus(deps, ctx, ref, status),
    enqueueTenantDeletion: (sql, tenantId) => jobs.send(sql, DeleteTenantTokens, { tenantId }),
    start: key.prepare,
    api: {
      provision: (sql, owner, endpoints) => provisionFirst(deps, sql, owner, endpoints),
      deleteTokens: (sql, tenantId, endpointIds) => deleteTokensOfEndpoints(deps, sql, tenantId, endpointIds),
      hasUsableToken: (endpointId) => store.hasToken(db.sql, endpointId, tokenStatuses.filter(isValid)),
      validate: (presented) => validate(deps, presented),
      examine: (presented) => examine(deps, presented),
    },
  }
}

async function list(
  { kit: { db } }: TokenDeps,
  ctx: Ctx,
  { endpointId, statuses = tokenStatuses, ...page }: TokenList,
) {
  requireScopeOn(ctx, 'endpoint:read', await store.findEndpoint(db.sql, endpointId), () => NoEndpoint({ endpointId }))
  const { total, tokens } = await store.findTokens(db.sql, { endpointId, statuses, ...page })
  return { totalElements: total, content: tokens.map(viewOf) }
}

async function read({ kit: { db } }: TokenDeps, ctx: Ctx, ref: store.TokenRef): Promise<TokenView> {
  return viewOf(requireScopeOn(ctx, 'endpoint:read', await store.findToken(db.sql, ref), () => NoToken({ ...ref })))
}

const viewOf = ({ endpointTokenId, status, createdDate, applicationName, updatedDate }: store.TokenRow): TokenView => ({
  endpointTokenId,
  status,
  createdDate,
  applicationName,
  ...(updatedDate !== null && { updatedDate }),
})
