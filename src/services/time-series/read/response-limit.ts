import type { ConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../../kernel/contract.ts'

/**
 * Limits concurrent responses per tenant and caller, because a response takes some megabytes until its client has read it. Further
 * responses wait.
 */
export async function* limitedResponse(
  limit: ConcurrencyLimit,
  ctx: Ctx,
  buffers: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const { subject } = ctx.caller
  const release = await limit.enter(ctx.tenantId, `${subject.type} ${subject.id}`, ctx)
  try {
    yield* buffers
  } finally {
    release()
  }
}
