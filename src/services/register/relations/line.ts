import { TooManyRequests } from '../../../kernel/errors.ts'
import type { Gate } from '../../../kernel/gate.ts'

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
