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

/**
 * One at a time for a tenant in this process, in the order of their coming: for work that the database does one after the
 * other anyway. Who waits here holds no connection.
 */
export function createLine(waitingMax: number): Gate {
  const lines = new Map<string, { last: Promise<unknown>; count: number }>()
  return {
    async pass(tenantId, work) {
      const line = lines.get(tenantId) ?? { last: Promise.resolve(), count: 0 }
      if (line.count > waitingMax) throw TooManyRequests({ seconds: 1 }, { headers: { 'retry-after': '1' } })
      lines.set(tenantId, line)
      line.count++
      const turn = line.last.then(work)
      line.last = turn.catch(() => {})
      try {
        return await turn
      } finally {
        if (--line.count === 0) lines.delete(tenantId)
      }
    },
  }
}
