/**
 * Fires schedules. A tick is one time at which a schedule fires. Every node computes all ticks; the node that first inserts a tick into the
 * database runs it.
 */
import type { Sql } from '../../../../kernel/db.ts'
import type { Kit } from '../../../../kernel/define-service.ts'
import type { Register } from '../../../register/contract.ts'
import { type CronExpression, parseCron } from '../../cron-expression.ts'
import { tickFailed } from '../../log-messages.ts'
import type { TriggerDefinition } from '../../model.ts'
import type { Recorder } from '../events/recorder.ts'
import type { EventEndpoint, RuleEvent } from '../events/rule-event.ts'
import type { Library } from '../library.ts'
import { findEndpointPage, insertTicks } from '../store/ticks.ts'
import { createSchedule } from './schedule.ts'
import { nextTick, type TimeZone, timeZone } from './ticks.ts'

export interface Scheduler {
  start(): void
  stop(): Promise<void>
}

interface Planned {
  trigger: TriggerDefinition
  cron: CronExpression
  zone: TimeZone
}

export interface Tick {
  trigger: TriggerDefinition
  plannedAt: Date
}

/** If a tick is late by more than this time, it is skipped. */
const lateMs = 30_000
const timerMaxMs = 3_600_000
const ticksPerBatch = 500
const endpointsPerPage = 1000

export function createScheduler(
  kit: Pick<Kit, 'db' | 'log' | 'now'>,
  deps: { library: Library; register: Pick<Register, 'relation'>; recorder: Recorder },
): Scheduler {
  const { db, log, now } = kit
  const planned = createSchedule<Planned>()
  let timer: NodeJS.Timeout | undefined
  let firing: Promise<void> = Promise.resolve()
  let isStarted = false

  const plan = (one: Planned, after: number) => planned.set(one.trigger.id, one, nextTick(one.cron, one.zone, after))

  /** Plans new and changed triggers, and forgets deleted triggers. */
  function update() {
    if (!isStarted) return
    const present = new Set<string>()
    for (const { trigger } of deps.library.index.ofType('cron')) {
      present.add(trigger.id)
      const { cronExpression, timezone = 'UTC' } = trigger.fields as { cronExpression: string; timezone?: string }
      const known = planned.get(trigger.id)
      if (known?.trigger === trigger) continue
      plan({ trigger, cron: parseCron(cronExpression), zone: timeZone(timezone) }, now().getTime())
    }
    for (const id of planned.ids()) if (!present.has(id)) planned.delete(id)
    setTimer()
  }

  function setTimer() {
    clearTimeout(timer)
    if (!isStarted || planned.first === undefined) return
    const wait = Math.min(timerMaxMs, Math.max(0, planned.first - now().getTime()))
    timer = setTimeout(handleDueTicks, wait).unref()
  }

  function handleDueTicks() {
    const at = now().getTime()
    const due: Tick[] = []
    for (let next = planned.takeDue(at); next; next = planned.takeDue(at)) {
      const { time, item } = next
      if (at - time <= lateMs) due.push({ trigger: item.trigger, plannedAt: new Date(time) })
      plan(item, Math.max(time, at - lateMs))
    }
    for (let from = 0; from < due.length; from += ticksPerBatch) {
      const ticks = due.slice(from, from + ticksPerBatch)
      firing = firing
        .then(() => storeTicks(ticks))
        .catch((error) => tickFailed(log, { err: error, ticks: ticks.length }))
    }
    setTimer()
  }

  async function storeTicks(ticks: Tick[]) {
    await db.tx(async (sql) => {
      const mine = await insertTicks(sql, ticks)
      for (const tick of mine) await storeTick(sql, deps, tick)
    })
  }

  deps.library.onChange(update)
  return {
    start() {
      isStarted = true
      update()
    },
    async stop() {
      isStarted = false
      clearTimeout(timer)
      await firing
    },
  }
}

/** Stores the events of a tick. There is one event without an endpoint, or one event for each endpoint that the trigger covers. */
async function storeTick(
  sql: Sql,
  { register, recorder }: { register: Pick<Register, 'relation'>; recorder: Recorder },
  { trigger, plannedAt }: Tick,
) {
  const { id, tenantId, appName, appVersionName, endpointIds } = trigger
  const event: RuleEvent = {
    type: 'cron',
    eventId: `${id}/${plannedAt.toISOString()}`,
    at: plannedAt.getTime(),
    payload: { triggerId: id, firedAt: plannedAt.toISOString() },
    triggerId: id,
  }
  if (appName === undefined && appVersionName === undefined && endpointIds === undefined)
    return await recorder.store(sql, [{ tenantId, events: [event] }])
  const selection = { tenantId, appName, appVersionName, endpointIds, limit: endpointsPerPage }
  for (let after = ''; ; ) {
    const page: EventEndpoint[] = await findEndpointPage(sql, register.relation(sql), { ...selection, after })
    if (page.length > 0)
      await recorder.store(sql, [{ tenantId, events: page.map((endpoint) => ({ ...event, endpoint })) }])
    if (page.length < endpointsPerPage) return
    after = page.at(-1)!.endpointId
  }
}
