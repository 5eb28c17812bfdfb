/**
 * Work of which there may be little at a time, for a tenant and for all together, so that everybody else finds a free connection.
 * The others wait for their turn, some of them and for a while; then it is 429.
 */
import { TooManyRequests } from './errors.ts'

export interface Gate {
  pass<T>(tenantId: string, work: () => Promise<T>): Promise<T>
}

export interface OpenGate extends Gate {
  /** For whoever is not done with a promise: what is resolved with has to be called once. */
  enter(tenantId: string, caller?: string): Promise<() => void>
}

interface Visitor {
  tenantId: string
  /** With the tenant: names of callers are theirs. */
  caller: string | undefined
}

interface Waiting extends Visitor {
  enter(): void
}

export interface GateLimits {
  perTenant: number
  /** Of one caller, where callers are named: less than the tenant has, so that one alone cannot keep out the rest. */
  perCaller?: number
  /** Of all tenants together; without it as many as come. */
  inAll?: number
  /** 0: who cannot enter at once is refused, as those must be who hold a connection meanwhile. Infinity: nobody is. */
  waitingPerTenant: number
  /** Infinity: until it is their turn. */
  waitMs?: number
}

export function createGate({
  perTenant,
  perCaller = Number.POSITIVE_INFINITY,
  inAll = Number.POSITIVE_INFINITY,
  waitingPerTenant,
  waitMs = 5000,
}: GateLimits): OpenGate {
  const ofTenants = createCounts()
  const ofCallers = createCounts()
  const queue: Waiting[] = []
  let all = 0

  const mayEnter = ({ tenantId, caller }: Visitor) =>
    all < inAll && ofTenants.of(tenantId) < perTenant && (caller === undefined || ofCallers.of(caller) < perCaller)
  const refused = () => TooManyRequests({ seconds: 1 }, { headers: { 'retry-after': '1' } })

  function enter({ tenantId, caller }: Visitor) {
    all++
    ofTenants.add(tenantId, 1)
    if (caller !== undefined) ofCallers.add(caller, 1)
  }
  function leave({ tenantId, caller }: Visitor) {
    all--
    ofTenants.add(tenantId, -1)
    if (caller !== undefined) ofCallers.add(caller, -1)
    const next = queue.findIndex(mayEnter)
    if (next >= 0) queue.splice(next, 1)[0]!.enter()
  }

  function turn(visitor: Visitor): Promise<void> {
    const before = queue.filter(({ tenantId }) => tenantId === visitor.tenantId)
    if (before.length >= waitingPerTenant) throw refused()
    return new Promise((done, fail) => {
      const mine: Waiting = {
        ...visitor,
        enter() {
          clearTimeout(patience)
          enter(visitor)
          done()
        },
      }
      const giveUp = () => {
        queue.splice(queue.indexOf(mine), 1)
        fail(refused())
      }
      const patience = waitMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(giveUp, waitMs)
      queue.push(mine)
    })
  }

  async function wait(visitor: Visitor) {
    if (mayEnter(visitor)) enter(visitor)
    else await turn(visitor)
  }

  return {
    async enter(tenantId, caller) {
      const visitor = { tenantId, caller: caller === undefined ? undefined : `${tenantId}\n${caller}` }
      await wait(visitor)
      return () => leave(visitor)
    },
    async pass(tenantId, work) {
      const visitor = { tenantId, caller: undefined }
      await wait(visitor)
      try {
        return await work()
      } finally {
        leave(visitor)
      }
    },
  }
}

function createCounts() {
  const counts = new Map<string, number>()
  return {
    of: (key: string) => counts.get(key) ?? 0,
    add(key: string, change: 1 | -1) {
      const count = (counts.get(key) ?? 0) + change
      if (count > 0) counts.set(key, count)
      else counts.delete(key)
    },
  }
}
