/** Lists dead letters, and deletes or retries them. */
import type { Ctx } from '../../../../kernel/contract.ts'
import { authorizeOrNotFound } from '../../../../kernel/contract.ts'
import { windowOfPage } from '../../../../kernel/paging.ts'
import { onResource, visibleResources } from '../../../../kernel/permissions.ts'
import { isUuid } from '../../definitions/service/library.ts'
import { NoDeadLetter } from '../../errors.ts'
import type { Recorder } from '../events/recorder.ts'
import type { RuleEvent } from '../events/rule-event.ts'
import * as store from '../store/dead-letters.ts'
import type { EngineDeps } from './deps.ts'

export interface DeadLetterView {
  id: string
  ruleId: string
  triggerId: string
  endpointId?: string
  eventId: string
  reason: string
  createdAt: Date
}

export interface DeadLetters {
  list(ctx: Ctx, page: { page: number; size: number }): Promise<{ totalElements: number; content: DeadLetterView[] }>
  retry(ctx: Ctx, id: string): Promise<void>
  delete(ctx: Ctx, id: string): Promise<void>
}

export function createDeadLetters({ kit }: EngineDeps, recorder: Recorder): DeadLetters {
  const { db } = kit

  async function require(ctx: Ctx, id: string, scope: string): Promise<store.DeadLetterRow> {
    const row = isUuid(id) ? await store.findDeadLetter(db.sql, ctx.tenantId, id.toLowerCase()) : undefined
    if (!row) throw NoDeadLetter({ id })
    const resource = onResource(ctx.tenantId, `rule-${row.ruleId}`)
    authorizeOrNotFound(ctx, { read: 'rule:read', scope }, resource, () => NoDeadLetter({ id }))
    return row
  }

  return {
    async list({ caller, tenantId }, page) {
      const visible = visibleResources(caller, 'rule:read', tenantId, 'rule-')
      const [totalElements, rows] = await Promise.all([
        store.countDeadLetters(db.sql, tenantId, visible),
        store.findDeadLetters(db.sql, tenantId, visible, windowOfPage(page)),
      ])
      const content = rows.map(({ endpointId, ...row }) => ({ ...row, ...(endpointId !== null && { endpointId }) }))
      return { totalElements, content }
    },
    async retry(ctx, id) {
      const { ruleId, event } = await require(ctx, id, 'rule:execute')
      await db.tx(async (sql) => {
        if (!(await store.deleteDeadLetter(sql, ctx.tenantId, id))) throw NoDeadLetter({ id })
        const retriedEvent: RuleEvent = { ...(JSON.parse(event) as RuleEvent), ruleId }
        await recorder.store(sql, [{ tenantId: ctx.tenantId, events: [retriedEvent] }])
      })
    },
    async delete(ctx, id) {
      await require(ctx, id, 'rule:delete')
      if (!(await store.deleteDeadLetter(db.sql, ctx.tenantId, id))) throw NoDeadLetter({ id })
    },
  }
}
