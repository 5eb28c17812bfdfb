/**
 * Replays rules over recorded messages. The result contains the messages for which the rule now returns another value than at the arrival
 * of the message.
 */
import type { Caller, Ctx } from '../../../../kernel/contract.ts'
import { invalidField } from '../../../../kernel/errors.ts'
import { windowOfPage } from '../../../../kernel/paging.ts'
import { holds } from '../../../../kernel/permissions.ts'
import { endpointResource } from '../../../register/contract.ts'
import type { InboundMessage, TrafficLog } from '../../../traffic-log/contract.ts'
import { isUuid } from '../../definitions/service/library.ts'
import { checkScript } from '../../definitions/service/scripts.ts'
import type { LinkedRule } from '../../definitions/store/load.ts'
import { NoReplay, ReplayEnded, TooManyReplays } from '../../errors.ts'
import { replayFailed } from '../../log-messages.ts'
import { type TriggerDefinition, typeConstant, type Writer } from '../../model.ts'
import { derivedId } from '../derived-ids.ts'
import { idsOfEvent, triggerMembers } from '../events/process.ts'
import type { RuleEvent } from '../events/rule-event.ts'
import * as store from '../store/replays.ts'
import { findMetadata } from '../store/traces.ts'
import type { EngineDeps } from './deps.ts'
import { requireRule } from './executions.ts'
import { dateOf } from './trace-queries.ts'

export interface ReplayRequest {
  from: string | number
  to: string | number
  endpointIds?: string[] | undefined
  expression?: string | undefined
}

export interface ReplaySummary {
  replayId: string
  from: Date
  to: Date
  createdAt: Date
  status: string
  reason?: string
  progress: number
  eventsCount: number
  skippedCount: number
}

export interface ReplayView extends ReplaySummary {
  differences: store.Difference[]
}

export interface ListedReplay extends ReplaySummary {
  differencesCount: number
}

export interface Replays {
  create(ctx: Ctx, ruleId: string, request: ReplayRequest): Promise<string>
  read(ctx: Ctx, ruleId: string, replayId: string): Promise<ReplayView>
  /** Returns replays of a rule, the newest first. */
  list(
    ctx: Ctx,
    ruleId: string,
    page: { page: number; size: number },
  ): Promise<{ totalElements: number; content: ListedReplay[] }>
  /** Stops a running replay; it keeps the differences that it found. */
  cancel(ctx: Ctx, ruleId: string, replayId: string): Promise<ReplayView>
  /** Continues the replays of a node that has died. */
  takeOver(nodeId: string): Promise<void>
  stop(): Promise<void>
}

interface Deps extends EngineDeps {
  trafficLog: Pick<TrafficLog, 'inbound'>
  callerOf(tenantId: string, writer: Writer): Promise<Caller | undefined>
}

const messagesPerPage = 200
const differencesMax = 1000
const runningMax = 2
const eventType = 'endpoint-data-samples-received'

export function createReplays(deps: Deps): Replays {
  const { kit } = deps
  const { db, members, log } = kit
  const running = new Set<Promise<void>>()
  let isStopped = false

  /** Starts a replay. `caller` is the caller of the request; it is absent if this node takes over the replay. */
  function start(row: store.ReplayRow, caller?: Caller) {
    const callerNow = async () =>
      (await deps.callerOf(row.tenantId, { type: row.callerType, id: row.callerId })) ?? caller
    const work = replay(deps, row, callerNow, () => isStopped)
      .catch(async (error) => {
        if (isStopped) return
        replayFailed(log, { err: error, replayId: row.id })
        await store.updateReplay(db.sql, {
          ...row,
          status: 'FAILED',
          reason: 'the platform failed; start the replay again',
        })
      })
      .finally(() => running.delete(work))
    running.add(work)
  }

  async function requireReplay(ctx: Ctx, ruleId: string, replayId: string): Promise<store.ReplayRow> {
    const { id } = await requireRule(deps, ctx, ruleId)
    const key = { tenantId: ctx.tenantId, ruleId: id, id: replayId }
    const row = isUuid(replayId) ? await store.findReplay(db.sql, key) : undefined
    if (!row) throw NoReplay({ id: replayId })
    return row
  }

  return {
    async create(ctx, ruleId, request) {
      const row = await newReplay(deps, ctx, ruleId, request)
      await db.tx(async (sql) => {
        if ((await store.countRunning(sql, ctx.tenantId)) >= runningMax) throw TooManyReplays()
        await store.insertReplay(sql, row)
      })
      start({ ...row, status: 'RUNNING', reason: null, eventsCount: 0, skippedCount: 0, differences: [] }, ctx.caller)
      return row.id
    },
    async read(ctx, ruleId, replayId) {
      const row = await requireReplay(ctx, ruleId, replayId)
      return { ...summaryOf(row), differences: row.differences }
    },
    async list(ctx, ruleId, page) {
      const { id } = await requireRule(deps, ctx, ruleId)
      const rule = { tenantId: ctx.tenantId, ruleId: id }
      const [totalElements, rows] = await Promise.all([
        store.countReplays(db.sql, rule),
        store.findReplays(db.sql, rule, windowOfPage(page)),
      ])
      const content = rows.map((row) => ({ ...summaryOf(row), differencesCount: row.differencesCount }))
      return { totalElements, content }
    },
    async cancel(ctx, ruleId, replayId) {
      const { tenantId, ruleId: id, ...row } = await requireReplay(ctx, ruleId, replayId)
      if (!(await store.cancelReplay(db.sql, { tenantId, ruleId: id, id: row.id }))) throw ReplayEnded()
      const now = await requireReplay(ctx, ruleId, replayId)
      return { ...summaryOf(now), differences: now.differences }
    },
    async takeOver(nodeId) {
      for (const row of await store.takeOverReplays(db.sql, nodeId, members.nodeId)) start(row)
    },
    async stop() {
      isStopped = true
      await Promise.all(running)
    },
  }
}

async function newReplay(deps: Deps, ctx: Ctx, ruleId: string, request: ReplayRequest) {
  const rule = await requireRule(deps, ctx, ruleId)
  const from = dateOf(deps, 'from', request.from)!
  const to = dateOf(deps, 'to', request.to)!
  if (from >= to) throw invalidField('to', 'expected a time after from')
  const { expression, endpointIds } = request
  if (expression !== undefined) await checkScript({ check: deps.sandbox.check }, ctx, 'expression', expression)
  if (endpointIds) await requireEndpoints(deps, ctx, endpointIds)
  const { subject } = ctx.caller
  return {
    id: deps.kit.newId(),
    tenantId: ctx.tenantId,
    ruleId: rule.id,
    nodeId: deps.kit.members.nodeId,
    expression: expression ?? rule.expression,
    endpointIds: endpointIds ?? null,
    fromTime: from,
    toTime: to,
    positionMicros: from.getTime() * 1000 - 1,
    callerType: subject.type,
    callerId: subject.id,
    createdAt: deps.kit.now(),
  }
}

async function requireEndpoints({ register }: Deps, { tenantId, caller }: Ctx, endpointIds: string[]) {
  const found = await register.findAll(endpointIds)
  const unknown = endpointIds.find((id) => {
    const endpoint = found.get(id)
    return endpoint?.tenantId !== tenantId || !mayRead(caller, endpoint)
  })
  if (unknown !== undefined)
    throw invalidField('endpointIds', `there is no endpoint ${unknown}, or the caller may not read it`)
}

const mayRead = (caller: Caller, endpoint: Parameters<typeof endpointResource>[0]) =>
  holds(caller, 'endpoint:read', endpointResource(endpoint))

function summaryOf({
  id,
  createdAt,
  status,
  reason,
  fromTime,
  toTime,
  positionMicros,
  eventsCount,
  skippedCount,
}: Omit<store.ReplayRow, 'differences'>): ReplaySummary {
  const [from, to] = [fromTime.getTime(), toTime.getTime()]
  const part = (positionMicros / 1000 - from) / (to - from)
  return {
    replayId: id,
    from: fromTime,
    to: toTime,
    createdAt,
    status,
    ...(reason !== null && { reason }),
    progress: status === 'COMPLETED' ? 1 : Math.max(0, Math.min(1, Math.round(part * 1000) / 1000)),
    eventsCount,
    skippedCount,
  }
}

/** Runs the replay page by page. The progress is stored after each page, so that another node can continue. */
async function replay(
  deps: Deps,
  row: store.ReplayRow,
  callerNow: () => Promise<Caller | undefined>,
  isStopped: () => boolean,
) {
  const { kit, library, trafficLog } = deps
  const { tenantId, ruleId, toTime } = row
  const endpointIds = row.endpointIds ?? undefined
  for (let current = row; !isStopped(); ) {
    await library.current(tenantId)
    const rule = library.rule(tenantId, ruleId)
    const caller = await callerNow()
    if (!rule || !caller) {
      const reason = rule
        ? 'the permissions of the caller of the replay are unknown; start the replay again'
        : 'the rule was deleted'
      return void (await store.updateReplay(kit.db.sql, { ...current, status: 'FAILED', reason }))
    }
    const page = { tenantId, extension: 'dcx', endpointIds, afterMicros: current.positionMicros, to: toTime }
    const messages = await trafficLog.inbound({ ...page, limit: messagesPerPage })
    current = await replayPage(deps, caller, { ...rule, expression: row.expression }, current, messages)
    if (messages.length < messagesPerPage) current = { ...current, status: 'COMPLETED' }
    if (!(await store.updateReplay(kit.db.sql, current)) || current.status !== 'RUNNING') return
  }
}

/**
 * Replays a page of messages. Messages of endpoints that the caller may not read are left out, because the caller can write the expression
 * and sees what it returns.
 */
async function replayPage(
  deps: Deps,
  caller: Caller,
  rule: LinkedRule,
  row: store.ReplayRow,
  messages: InboundMessage[],
) {
  const { tenantId } = row
  const triggers = triggersOf(deps, rule)
  const events: { event: RuleEvent; trigger: TriggerDefinition | undefined }[] = []
  let skipped = 0
  for (const message of messages) {
    if (!mayRead(caller, { tenantId, ...message })) continue
    const trigger = row.endpointIds ? triggers[0] : triggers.find((one) => covers(one, message))
    if (!trigger && triggers.length > 0 && !row.endpointIds) continue
    const samples = message.isTruncated ? undefined : deps.timeSeries.samplesOf(message)
    if (samples) events.push({ event: eventOf(message, samples), trigger })
    else skipped++
  }
  const ids = events.map(({ event }) => idsOfEvent(event, rule.id).traceId)
  const before = await findMetadata(deps.kit.db.sql, ids)
  const differences = [...row.differences]
  for (const [index, { event, trigger }] of events.entries()) {
    const now = await returnedNow(deps, rule, event, trigger, caller)
    const found = before.get(ids[index]!)
    const then = found ? textOf(found) : null
    const { eventId, endpoint, at } = event
    if (now !== then && differences.length < differencesMax)
      differences.push({ eventId, endpointId: endpoint!.endpointId, at: new Date(at).toISOString(), before: then, now })
  }
  return {
    ...row,
    positionMicros: messages.at(-1)?.micros ?? row.positionMicros,
    eventsCount: row.eventsCount + events.length,
    skippedCount: row.skippedCount + skipped,
    differences,
  }
}

const triggersOf = ({ library }: Deps, rule: LinkedRule): TriggerDefinition[] =>
  rule.triggerIds.flatMap((id) => {
    const trigger = library.index.get(id)?.trigger
    return trigger?.type === eventType ? [trigger] : []
  })

const covers = ({ appName, appVersionName, endpointIds }: TriggerDefinition, message: InboundMessage) =>
  appName === message.applicationName ||
  appVersionName === message.versionName ||
  (endpointIds?.includes(message.endpointId) ?? false)

const eventOf = (message: InboundMessage, samples: unknown[]): RuleEvent => ({
  type: eventType,
  eventId: message.correlationId,
  at: message.createdAt.getTime(),
  endpoint: {
    endpointId: message.endpointId,
    applicationName: message.applicationName,
    versionName: message.versionName,
  },
  payload: { dataSamples: samples },
})

/** Returns the value that the rule returned according to its trace, or the reason of its failure, as text. */
function textOf({
  isFailure,
  reason,
  metadata,
}: {
  isFailure: boolean
  reason: string | null
  metadata: string
}): string {
  const text = isFailure
    ? `failed: ${reason}`
    : String((JSON.parse(metadata) as { returnedValue?: unknown }).returnedValue)
  // PostgreSQL stores neither NUL nor lone surrogates. Traces replace them too, so equal values stay equal.
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}

async function returnedNow(
  deps: Deps,
  rule: LinkedRule,
  event: RuleEvent,
  trigger: TriggerDefinition | undefined,
  caller: Caller,
): Promise<string> {
  const { endpointId, applicationName, versionName } = event.endpoint!
  const { tenantId } = rule
  const members = trigger
    ? triggerMembers(trigger, event.payload, versionName)
    : { type: typeConstant(eventType), appVersionName: versionName, endpointDataSamplesReceived: event.payload }
  const { traces } = await deps.run({
    rule: { ...rule, positiveActionIds: [], negativeActionIds: [] },
    traceId: derivedId(event.at, event.eventId, 'replay'),
    id: derivedId(event.at, event.eventId, rule.id),
    depth: 1,
    eventId: event.eventId,
    at: event.at,
    endpoint: { tenantId, endpointId, applicationName, versionName: versionName! },
    raisedOn: { entityType: 'ENDPOINT', entityId: endpointId },
    triggerJson: JSON.stringify(members),
    triggerKey: 'endpointDataSamplesReceived',
    isTry: true,
    caller,
  })
  const [{ outcome, reason, metadata }] = traces as [(typeof traces)[0]]
  return textOf({ isFailure: outcome === 'FAILURE', reason: reason ?? null, metadata: JSON.stringify(metadata) })
}
