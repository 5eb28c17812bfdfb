import type { ConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../../kernel/contract.ts'

/**
 * An answer holds some megabytes until its reader has taken it, so a tenant, and each of its callers, has so many of them at a
 * time; the others wait before they begin.
 */
export async function* heldAnswer(
  gate: ConcurrencyLimit,
  ctx: Ctx,
  pieces: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const { subject } = ctx.caller
  const leave = await gate.enter(ctx.tenantId, `${subject.type} ${subject.id}`, ctx)
  try {
    yield* pieces
  } finally {
    leave()
  }
}
