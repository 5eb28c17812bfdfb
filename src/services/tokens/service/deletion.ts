/** Deletes tokens: a single token, all tokens of endpoints, or all tokens of a tenant. */
import { type Bus, splitForEvents } from '../../../kernel/bus.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import { NoToken } from '../errors.ts'
import { TenantTokensDeleted, TokensDeleted } from '../events.ts'
import * as store from '../store.ts'
import { requireScopeOn } from './access.ts'
import type { TokenDeps } from './deps.ts'

export const DeleteTenantTokens = defineJob<{ tenantId: string }>('tokens.forget-tenant', { timeoutSeconds: 3600 })
const batchRows = 5000

export async function deleteToken({ kit: { db, bus } }: TokenDeps, ctx: Ctx, ref: store.TokenRef) {
  await db.tx(async (sql) => {
    const token = requireScopeOn(ctx, 'endpoint:update', await store.lockToken(sql, ref), () => NoToken({ ...ref }))
    await store.deleteToken(sql, ref)
    const { endpointId, endpointTokenId, tokenHash } = token
    await publishDeleted(bus, sql, token.tenantId, [{ endpointId, endpointTokenId, tokenHash }])
  })
}

export async function deleteTokensOfEndpoints({ kit }: TokenDeps, sql: Sql, tenantId: string, endpointIds: string[]) {
  await publishDeleted(kit.bus, sql, tenantId, await store.deleteEndpoints(sql, tenantId, endpointIds))
}

/** Deletes tokens in batches, because a tenant can have a million endpoints. Publishes a single event. */
export async function deleteTokensOfTenant({ kit: { db, bus } }: TokenDeps, tenantId: string) {
  while ((await db.tx((sql) => store.deleteOfTenant(sql, tenantId, batchRows))) > 0);
  await db.tx((sql) => bus.publish(sql, TenantTokensDeleted, { tenantId }))
}

export async function publishDeleted(bus: Bus, sql: Sql, tenantId: string, tokens: store.DeletedToken[]) {
  for (const batch of splitForEvents(tokens)) await bus.publish(sql, TokensDeleted, { tenantId, tokens: batch })
}
