/** SQL functions that write sessions and their messages. */
import type { Sql } from '../../kernel/db.ts'
import { messageBytes, type QueueLimits, subscribedQos } from '../mqtt/session-store.ts'
import { claimHolders } from './holders.ts'
import { openSubscriptions, type SessionRow, toMessageRow } from './session-rows.ts'
import type { SessionStoreDeps, StepOf, StepResults } from './session-steps.ts'

const batchRowsMax = 1000

export async function claim(
  sql: Sql,
  { claims }: SessionStoreDeps,
  steps: StepOf<'claim'>[],
  answers: StepResults,
  relaxed: boolean,
) {
  const byKey = new Map(steps.map((step) => [step.key, step]))
  const claimed = await claimHolders(sql, claims.nodeId, [...byKey.keys()], relaxed)
  for (const { key, claim: number } of claimed) answers.set(byKey.get(key)!, number)
  const announcements = claimed.flatMap(({ key, claim: number, previousNodeId: to }) =>
    claims.isOtherNode(to) ? [{ to, claim: { key, claim: number, clean: byKey.get(key)!.clean } }] : [],
  )
  if (announcements.length > 0) await claims.announceClaims(sql, announcements)
}

export const deleteSessions = (sql: Sql, steps: StepOf<'discard'>[]) => sql`
  delete from gateway.sessions s
  using unnest(${steps.map(({ key }) => key)}::text[], ${steps.map((step) => step.claim?.toString() ?? null)}::text[]::bigint[])
    v (session_key, claim)
  where s.session_key = v.session_key and (v.claim is null or s.claim <= v.claim)`

/** Writes sessions, except sessions that a newer connection has claimed. Returns the keys that were written. */
export async function upsertSessions(sql: Sql, rows: SessionRow[]): Promise<Set<string>> {
  const written = await sql<{ sessionKey: string }[]>`
    insert into gateway.sessions ${sql(rows as never[])}
    on conflict (session_key) do update set expiry_seconds = excluded.expiry_seconds, expires_at = excluded.expires_at,
      subscriptions = excluded.subscriptions, claim = excluded.claim
    where sessions.claim <= excluded.claim
    returning sessions.session_key`
  return new Set(written.map(({ sessionKey }) => sessionKey))
}

export async function leaveSessions(sql: Sql, { secrets }: SessionStoreDeps, leaves: StepOf<'leave'>[]) {
  const sentMessages = leaves.flatMap(({ key, session }) =>
    session.messages.flatMap(({ storeId, packetId, released }) =>
      storeId === undefined || packetId === 0 ? [] : [{ key, storeId, packetId, released }],
    ),
  )
  const added = leaves.flatMap(({ key, session }) =>
    session.messages.flatMap((queued) => (queued.storeId === undefined ? [toMessageRow(secrets, key, queued)] : [])),
  )
  for (const { key, session } of leaves)
    if (session.received.length > 0)
      await sql`
        update gateway.sessions set received = ${session.received.map(([packetId]) => packetId)},
          received_topics = ${session.received.map(([, topicHash]) => topicHash)}
        where session_key = ${key}`
  const emptied = leaves.filter(({ session }) => session.received.length === 0).map(({ key }) => key)
  if (emptied.length > 0)
    await sql`update gateway.sessions set received = '{}' where session_key = any(${emptied}) and received <> '{}'`
  if (sentMessages.length > 0)
    await sql`
      update gateway.session_messages m set packet_id = v.packet_id, released = v.released
      from unnest(
        ${sentMessages.map(({ key }) => key)}::text[], ${sentMessages.map(({ storeId }) => storeId)}::bigint[],
        ${sentMessages.map(({ packetId }) => packetId)}::integer[], ${sentMessages.map(({ released }) => String(released))}::text[]::boolean[]
      ) v (session_key, sequence, packet_id, released)
      where m.session_key = v.session_key and m.sequence = v.sequence`
  await insertMessages(sql, added)
}

export async function insertMessages(sql: Sql, rows: ReturnType<typeof toMessageRow>[]) {
  for (let start = 0; start < rows.length; start += batchRowsMax)
    await sql`insert into gateway.session_messages ${sql(rows.slice(start, start + batchRowsMax) as never[])}`
}

export const deleteMessages = (sql: Sql, steps: StepOf<'delete-message'>[]) => sql`
  delete from gateway.session_messages m
  using unnest(${steps.map(({ key }) => key)}::text[], ${steps.map(({ storeId }) => storeId)}::bigint[])
    v (session_key, sequence)
  where m.session_key = v.session_key and m.sequence = v.sequence`

export async function enqueue(
  sql: Sql,
  deps: SessionStoreDeps,
  limits: QueueLimits,
  steps: StepOf<'enqueue'>[],
  answers: StepResults,
) {
  const keys = [...new Set(steps.map(({ key }) => key))].sort()
  const now = deps.now()
  const sessions = await sql`
    select s.session_key, s.subscriptions, h.node_id
    from gateway.sessions s left join gateway.holders h on h.session_key = s.session_key
    where s.session_key = any(${keys}) and (s.expires_at is null or s.expires_at > ${now})
    order by s.session_key for update of s`
  const sizeRows = await sql`
    select session_key, count(*) as count, sum(bytes) as bytes from gateway.session_messages
    where session_key = any(${keys}) group by session_key`
  const subscriptions = new Map(
    sessions.map((row) => [row.sessionKey as string, openSubscriptions(deps, row.subscriptions)]),
  )
  const queueSizes = new Map(
    sizeRows.map((row) => [row.sessionKey as string, { count: Number(row.count), bytes: Number(row.bytes) }]),
  )
  const added: ReturnType<typeof toMessageRow>[] = []
  for (const step of steps) {
    const { key, message } = step
    const qos = subscribedQos(subscriptions.get(key) ?? [], message)
    const queue = queueSizes.get(key) ?? { count: 0, bytes: 0 }
    const bytes = queue.bytes + messageBytes(message)
    if (qos === 0) answers.set(step, 'gone')
    else if (queue.count >= limits.queuedMessagesMax || bytes > limits.queuedBytesMax) answers.set(step, 'full')
    else {
      queueSizes.set(key, { count: queue.count + 1, bytes })
      const queued = { message: { ...message, qos }, packetId: 0, released: false, queuedAt: now.getTime() }
      added.push(toMessageRow(deps.secrets, key, queued))
      answers.set(step, 'queued')
    }
  }
  if (added.length === 0) return
  await insertMessages(sql, added)
  const onOtherNodes = sessions.flatMap(({ sessionKey: key, nodeId: to }) =>
    deps.claims.isOtherNode(to) && added.some(({ sessionKey }) => sessionKey === key)
      ? [{ to, key: key as string }]
      : [],
  )
  if (onOtherNodes.length > 0) await deps.claims.announceQueued(sql, onOtherNodes)
}

/**
 * Deletes expired sessions in batches, expired messages that were not sent, and messages that are older than the longest session expiry.
 */
export async function sweepSessions(sql: Sql, now: Date, waitSecondsMax: number) {
  for (;;) {
    const deleted = await sql`
      delete from gateway.sessions where session_key in (
        select session_key from gateway.sessions where expires_at <= ${now} limit ${batchRowsMax} for update skip locked
      )`
    if (deleted.count < batchRowsMax) break
  }
  await sql`delete from gateway.session_messages where expires_at <= ${now} and packet_id = 0`
  await sql`
    delete from gateway.session_messages where taken_at <= ${new Date(now.getTime() - waitSecondsMax * 1000)}`
}
