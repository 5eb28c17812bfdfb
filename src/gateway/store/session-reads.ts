/** SQL functions that read sessions and their messages. */
import type { Sql } from '../../kernel/db.ts'
import { anyTopic, type SessionState, type SessionStatus } from '../mqtt/session-store.ts'
import { type MessageRow, openSubscriptions, toSessionMessage } from './session-rows.ts'
import type { Loaded, SessionStoreDeps, StepOf, StepResults } from './session-steps.ts'

/** Maximum bytes of messages that one query loads. */
const loadBytesMax = 8_388_608
const batchRowsMax = 1000

export async function load(sql: Sql, deps: SessionStoreDeps, steps: StepOf<'load'>[], answers: StepResults) {
  const keys = steps.map(({ key }) => key)
  const now = deps.now()
  const rows = await sql`
    select s.session_key, s.expiry_seconds, s.subscriptions, s.received, s.received_topics,
      (select h.previous_node_id from gateway.holders h
        where h.session_key = s.session_key and h.node_id = ${deps.claims.nodeId}) as held_by,
      coalesce((select sum(m.bytes) from gateway.session_messages m where m.session_key = s.session_key), 0) as bytes
    from gateway.sessions s
    where s.session_key = any(${keys}) and (s.expires_at is null or s.expires_at > ${now})`
  const states = new Map<string, SessionState>()
  const { isOtherNode } = deps.claims
  const holders = new Map(rows.map((row) => [row.sessionKey as string, row.heldBy as string | null]))
  for (const { sessionKey, expirySeconds, subscriptions, received, receivedTopics } of rows) {
    const opened = openSubscriptions(deps, subscriptions)
    if (!opened) continue
    states.set(sessionKey, {
      expirySeconds: expirySeconds ?? Infinity,
      subscriptions: opened,
      received: received.map((packetId: number, index: number) => [packetId, receivedTopics[index] ?? anyTopic]),
      messages: [],
    })
  }
  const withMessages = rows.filter((row) => Number(row.bytes) > 0 && states.has(row.sessionKey))
  for (const part of splitBySize(
    withMessages.map((row) => ({ key: row.sessionKey as string, bytes: Number(row.bytes) })),
  ))
    for (const row of await findMessages(sql, part, now))
      states.get(row.sessionKey)!.messages.push(toSessionMessage(deps.secrets, row))
  const otherNode = (nodeId: string | null | undefined) => (isOtherNode(nodeId) ? nodeId : null)
  for (const step of steps)
    answers.set(step, { state: states.get(step.key), heldBy: otherNode(holders.get(step.key)) } satisfies Loaded)
}

function splitBySize(sessions: { key: string; bytes: number }[]): string[][] {
  const parts: string[][] = []
  let size = Infinity
  for (const { key, bytes } of sessions) {
    if (size + bytes > loadBytesMax) {
      parts.push([])
      size = 0
    }
    parts.at(-1)!.push(key)
    size += bytes
  }
  return parts
}

const findMessages = (sql: Sql, keys: string[], now: Date) => sql<MessageRow[]>`
  select session_key, sequence, qos, packet_id, released, taken_at, bytes, sealed from gateway.session_messages
  where session_key = any(${keys}) and (expires_at is null or expires_at > ${now} or packet_id > 0)
  order by session_key, sequence`

/** Implements `SessionStore.touch`. */
export async function touchSessions(
  sql: Sql,
  sessions: { key: string; claim: number }[],
  now: Date,
): Promise<SessionStatus[]> {
  const statuses: SessionStatus[] = []
  for (let start = 0; start < sessions.length; start += batchRowsMax) {
    const batch = sessions.slice(start, start + batchRowsMax)
    const keys = batch.map(({ key }) => key)
    await sql`
      update gateway.sessions set expires_at = ${now}::timestamptz + make_interval(secs => expiry_seconds)
      where session_key = any(${keys}) and expiry_seconds is not null`
    const rows = await sql<{ key: string; claim: number | null; waits: boolean }[]>`
      select key, s.claim, m.waits
      from unnest(${keys}::text[], ${batch.map(({ claim }) => claim.toString())}::text[]::bigint[]) v (key, claim)
      left join gateway.sessions s on s.session_key = v.key,
      lateral (select exists (
        select from gateway.session_messages m where m.session_key = v.key and m.packet_id = 0) as waits) m
      where s.claim is null or s.claim > v.claim or m.waits`
    for (const { key, claim, waits: hasQueued } of rows) statuses.push({ key, claim: claim ?? undefined, hasQueued })
  }
  return statuses
}
