import type { ConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../../kernel/contract.ts'

/**
 * An answer holds some megabytes until its reader has taken it, so a tenant, and each of its callers, has so many of them at a
 * time; the others wait before they begin.
 */
export async function* heldAnswer(
  gate: ConcurrencyLimit,
  { tenantId, caller: { subject } }: Ctx,
  pieces: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const leave = await gate.enter(tenantId, `${subject.type} ${subject.id}`)
  try {
    yield* pieces
  } finally {
    leave()
  }
}
