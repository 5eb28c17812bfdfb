/** Few at a time for a tenant and for all together: whoever reads much takes turns with the others. Nobody is refused. */
import type { OpenGate } from '../../../kernel/gate.ts'

export interface Turns {
  take<T>(tenantId: string, work: () => Promise<T>): Promise<T>
}

interface Waiting {
  tenantId: string
  enter(): void
}

export function createTurns(limits: { perTenant: number; inAll: number }): Turns {
  const inside = new Map<string, number>()
  const queue: Waiting[] = []
  let all = 0

  const mayEnter = (tenantId: string) => all < limits.inAll && (inside.get(tenantId) ?? 0) < limits.perTenant

  function enter(tenantId: string) {
    all++
    inside.set(tenantId, (inside.get(tenantId) ?? 0) + 1)
  }

  function leave(tenantId: string) {
    all--
    const left = inside.get(tenantId)! - 1
    if (left > 0) inside.set(tenantId, left)
    else inside.delete(tenantId)
    const next = queue.findIndex((waiting) => mayEnter(waiting.tenantId))
    if (next >= 0) queue.splice(next, 1)[0]!.enter()
  }

  return {
    async take(tenantId, work) {
      if (mayEnter(tenantId)) enter(tenantId)
      else
        await new Promise<void>((resolve) => {
          queue.push({
            tenantId,
            enter() {
              enter(tenantId)
              resolve()
            },
          })
        })
      try {
        return await work()
      } finally {
        leave(tenantId)
      }
    },
  }
}

/**
 * An answer holds some megabytes until its reader has taken it, so a tenant has so many of them at a time; the others wait before
 * they begin.
 */
export async function* heldAnswer(
  gate: OpenGate,
  tenantId: string,
  pieces: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const leave = await gate.enter(tenantId)
  try {
    yield* pieces
  } finally {
    leave()
  }
}
