/** Searches that scan: a tenant gets few at a time, so that the others find a free connection. */
import { TooManyRequests } from '../../../kernel/errors.ts'

export interface Gate {
  pass<T>(tenantId: string, work: () => Promise<T>): Promise<T>
}

export function createGate(perTenant: number): Gate {
  const inside = new Map<string, number>()
  return {
    async pass(tenantId, work) {
      const count = inside.get(tenantId) ?? 0
      if (count >= perTenant) throw TooManyRequests({ seconds: 1 }, { headers: { 'retry-after': '1' } })
      inside.set(tenantId, count + 1)
      try {
        return await work()
      } finally {
        const left = (inside.get(tenantId) ?? 1) - 1
        if (left > 0) inside.set(tenantId, left)
        else inside.delete(tenantId)
      }
    },
  }
}
