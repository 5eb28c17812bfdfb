/**
 * Searches that scan: few at a time for a tenant and for all together, so that everybody else finds a free connection. The
 * others wait for their turn, some of them and for a while; then it is 429.
 */
import { TooManyRequests } from './errors.ts'

export interface Gate {
  pass<T>(tenantId: string, work: () => Promise<T>): Promise<T>
}

export interface OpenGate extends Gate {
  /** For whoever is not done with a promise: what is resolved with has to be called once. */
  enter(tenantId: string): Promise<() => void>
}

interface Waiting {
  tenantId: string
  enter(): void
}

export interface GateLimits {
  perTenant: number
  /** Of all tenants together; without it as many as come. */
  inAll?: number
  /** 0: who cannot enter at once is refused, as those must be who hold a connection meanwhile. */
  waitingPerTenant: number
  waitMs?: number
}

export function createGate({
  perTenant,
  inAll = Number.POSITIVE_INFINITY,
  waitingPerTenant,
  waitMs = 5000,
}: GateLimits): OpenGate {
  const inside = new Map<string, number>()
  const queue: Waiting[] = []
  let all = 0

  const mayEnter = (tenantId: string) => all < inAll && (inside.get(tenantId) ?? 0) < perTenant
  const refused = () => TooManyRequests({ seconds: 1 }, { headers: { 'retry-after': '1' } })

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

  function turn(tenantId: string): Promise<void> {
    if (queue.filter((waiting) => waiting.tenantId === tenantId).length >= waitingPerTenant) throw refused()
    return new Promise((done, fail) => {
      const mine: Waiting = {
        tenantId,
        enter() {
          clearTimeout(patience)
          enter(tenantId)
          done()
        },
      }
      const patience = setTimeout(() => {
        queue.splice(queue.indexOf(mine), 1)
        fail(refused())
      }, waitMs)
      queue.push(mine)
    })
  }

  async function wait(tenantId: string) {
    if (mayEnter(tenantId)) enter(tenantId)
    else await turn(tenantId)
  }

  return {
    async enter(tenantId) {
      await wait(tenantId)
      return () => leave(tenantId)
    },
    async pass(tenantId, work) {
      await wait(tenantId)
      try {
        return await work()
      } finally {
        leave(tenantId)
      }
    },
  }
}
