/** Changes the status of tokens, on request of callers and when a device uses a token for the first time. */

import { createBatcher } from '../../../kernel/batcher.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import { NoToken, TransitionRejected } from '../errors.ts'
import { TokenStatusChanged } from '../events.ts'
import { allowedTransitionsText, isAllowed, type TargetStatus, type TokenStatus } from '../states.ts'
import * as store from '../store.ts'
import { requireScopeOn } from './access.ts'
import type { TokenDeps } from './deps.ts'

const batchMax = 128
const batchMs = 3

export async function setStatus(deps: TokenDeps, ctx: Ctx, ref: store.TokenRef, to: TargetStatus) {
  await deps.kit.db.tx(async (sql) => {
    const token = requireScopeOn(ctx, 'endpoint:update', await store.lockToken(sql, ref), () => NoToken({ ...ref }))
    if (token.status === to) return
    if (!isAllowed(token.status, to, 'caller'))
      throw TransitionRejected({ from: token.status, to, possible: allowedTransitionsText(token.status) })
    await changeStatus(deps, sql, token, to)
  })
}

async function changeStatus(
  { kit: { bus, now } }: TokenDeps,
  sql: Sql,
  token: store.TokenForValidation,
  to: TokenStatus,
) {
  const { tenantId, applicationName, endpointId, endpointTokenId, tokenHash, status: from } = token
  if (!(await store.updateStatus(sql, token, { from, to, at: now() }))) return
  const payload = { tenantId, applicationName, endpointId, endpointTokenId, tokenHash, from, to }
  await bus.publish(sql, TokenStatusChanged, payload)
}

/** Activates an Inactive token. Resolves to false if the token is no longer Inactive. */
export type Activate = (token: store.TokenForValidation) => Promise<boolean | undefined>

/** Activates tokens in batches, because thousands of new devices may connect at the same time. */
export const createActivate = (kit: TokenDeps['kit']): Activate =>
  createBatcher<store.TokenForValidation, boolean>((tokens) => activateAll(kit, tokens), batchMax, batchMs)

async function activateAll({ db, bus, now }: TokenDeps['kit'], tokens: store.TokenForValidation[]): Promise<boolean[]> {
  const [from, to] = ['Inactive', 'Active'] as const
  const activatedIds = await db.tx(async (sql) => {
    const rows = await store.updateStatuses(sql, tokens, { from, to, at: now() })
    await bus.publishAll(
      sql,
      TokenStatusChanged,
      rows.map((token) => ({ ...token, from, to })),
      // Another node may still have the token cached as Inactive. When the token is used there for the first time, that node reads it again
      // (validation.ts).
      { thisNodeOnly: true },
    )
    return new Set(rows.map(({ endpointTokenId }) => endpointTokenId))
  })
  return tokens.map(({ endpointTokenId }) => activatedIds.has(endpointTokenId))
}
