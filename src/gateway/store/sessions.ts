/** MQTT sessions in PostgreSQL; steps of many sessions share transactions. */
import { type Clock, sleep } from '../../kernel/clock.ts'
import { type Db, isConnectionTrouble, type Sql } from '../../kernel/db.ts'
import type { Log } from '../../kernel/log.ts'
import type { Secrets } from '../../kernel/secrets.ts'
import type { Claims } from '../claims.ts'
import type { Message } from '../mqtt/host.ts'
import {
  messageBytes,
  owedQos,
  type QueueLimits,
  type SessionState,
  type SessionStore,
  type Standing,
} from '../mqtt/session-store.ts'
import { createRounds, intoRounds } from './rounds.ts'
import {
  type MessageRow,
  type SessionRow,
  toMessageRow,
  toOwedMessage,
  toSessionRow,
  toSubscriptions,
} from './session-rows.ts'

type Step =
  | { kind: 'claim'; key: string; clean: boolean }
  | { kind: 'load'; key: string }
  | { kind: 'save'; key: string; claim: number; session: Pick<SessionState, 'expirySeconds' | 'subscriptions'> }
  | { kind: 'leave'; key: string; claim: number; session: SessionState; yielded: boolean }
  | { kind: 'discard'; key: string; claim: number | undefined }
  | { kind: 'enqueue'; key: string; message: Message }
  | { kind: 'forget'; key: string; stored: string }

type Of<K extends Step['kind']> = Extract<Step, { kind: K }>
type Answers = Map<Step, unknown>

export interface SessionStoreDeps {
  db: Db
  secrets: Secrets
  now: Clock
  log: Log
  claims: Claims
}

interface Loaded {
  state: SessionState | undefined
  /** Another process has its client, and lives. */
  heldBy: string | null
}

/** As connectivity.ts counts: a process that has not been heard of for so long is dead. */
const silentSeconds = 5
const together = new Set(['enqueue', 'forget'])
const attemptsMax = 3
/** Messages of sessions that come back together are read in parts of this size. */
const loadBytesMax = 8_388_608
const rowsAtOnce = 1000

export function createSessionStore(deps: SessionStoreDeps, limits: QueueLimits): SessionStore {
  const { db, log, now, claims } = deps
  // A CONNECT is two steps.
  const rounds = createRounds<Step>(run, { atOnce: 256, waitingMax: 40_000 })

  async function run(steps: Step[]): Promise<Answers> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await db.tx(async (sql) => {
          const answers: Answers = new Map()
          for (const round of intoRounds(steps, together)) await runRound(sql, deps, limits, round, answers)
          return answers
        })
      } catch (error) {
        if (attempt === attemptsMax || !isConnectionTrouble(error)) throw error
        await sleep(200 * attempt)
      }
    }
  }

  return {
    claim: (key, clean) => rounds.ask({ kind: 'claim', key, clean }),
    async load(key) {
      const expected = claims.expect(key)
      try {
        const { state, heldBy } = await rounds.ask<Loaded>({ kind: 'load', key })
        if (heldBy === null) return state
        await expected.released(heldBy)
        return (await rounds.ask<Loaded>({ kind: 'load', key })).state
      } finally {
        expected.end()
      }
    },
    save: (key, claim, session) => rounds.ask({ kind: 'save', key, claim, session }),
    leave: (key, claim, session, yielded) => rounds.ask({ kind: 'leave', key, claim, session, yielded }),
    discard: (key, claim) => rounds.ask({ kind: 'discard', key, claim }),
    enqueue: (key, message) => rounds.ask({ kind: 'enqueue', key, message }),
    forget(key, stored) {
      // It is sent once more at the worst.
      rounds
        .ask({ kind: 'forget', key, stored })
        .catch((error) => log.warn({ err: error }, 'a message was not forgotten'))
    },
    touch: (sessions) => touchSessions(db.sql, sessions, now()),
    close: () => rounds.settled(),
  }
}

async function runRound(sql: Sql, deps: SessionStoreDeps, limits: QueueLimits, steps: Step[], answers: Answers) {
  const of = <K extends Step['kind']>(kind: K) => steps.filter((step): step is Of<K> => step.kind === kind)
  const [claimed, discards, saves, leaves, enqueues, forgets, loads] = [
    of('claim'),
    of('discard'),
    of('save'),
    of('leave'),
    of('enqueue'),
    of('forget'),
    of('load'),
  ]
  const now = deps.now()
  const rows = [...saves, ...leaves].map((step) =>
    toSessionRow(deps.secrets, step, step.kind === 'save' ? deps.claims.nodeId : null, now),
  )
  if (claimed.length > 0) await claim(sql, deps, claimed, answers)
  if (discards.length > 0) await deleteSessions(sql, discards)
  const written = rows.length > 0 ? await upsertSessions(sql, rows) : new Set()
  if (leaves.length > 0) {
    await leaveSessions(
      sql,
      deps,
      leaves.filter(({ key }) => written.has(key)),
    )
    const yielded = leaves.filter((step) => step.yielded)
    if (yielded.length > 0)
      await deps.claims.release(
        sql,
        yielded.map(({ key }) => key),
      )
  }
  if (forgets.length > 0) await deleteMessages(sql, forgets)
  if (enqueues.length > 0) await enqueue(sql, deps, limits, enqueues, answers)
  if (loads.length > 0) await load(sql, deps, loads, answers)
}

async function claim(sql: Sql, deps: SessionStoreDeps, steps: Of<'claim'>[], answers: Answers) {
  const numbers = await sql<{ claim: number }[]>`
    select nextval('gateway.session_claims') as claim from generate_series(1, ${steps.length})`
  for (const [index, step] of steps.entries()) answers.set(step, numbers[index]!.claim)
  await deps.claims.announce(
    sql,
    steps.map((step, index) => ({ key: step.key, claim: numbers[index]!.claim, clean: step.clean })),
  )
}

const deleteSessions = (sql: Sql, steps: Of<'discard'>[]) => sql`
  delete from gateway.sessions s
  using unnest(${steps.map(({ key }) => key)}::text[], ${steps.map((step) => step.claim?.toString() ?? null)}::text[]::bigint[])
    v (session_key, claim)
  where s.session_key = v.session_key and (v.claim is null or s.claim <= v.claim)`

/** The keys of those that were written: not those that a newer connection has claimed. */
async function upsertSessions(sql: Sql, rows: SessionRow[]): Promise<Set<string>> {
  const written = await sql<{ sessionKey: string }[]>`
    insert into gateway.sessions ${sql(rows as never[])}
    on conflict (session_key) do update set expiry_seconds = excluded.expiry_seconds, expires_at = excluded.expires_at,
      subscriptions = excluded.subscriptions, claim = excluded.claim, node_id = excluded.node_id
    where sessions.claim <= excluded.claim
    returning sessions.session_key`
  return new Set(written.map(({ sessionKey }) => sessionKey))
}

async function leaveSessions(sql: Sql, { secrets }: SessionStoreDeps, leaves: Of<'leave'>[]) {
  const known = leaves.flatMap(({ key, session }) =>
    session.messages.flatMap(({ stored, packetId, released }) =>
      stored === undefined || packetId === 0 ? [] : [{ key, stored, packetId, released }],
    ),
  )
  const added = leaves.flatMap(({ key, session }) =>
    session.messages.flatMap((owed) => (owed.stored === undefined ? [toMessageRow(secrets, key, owed)] : [])),
  )
  for (const { key, session } of leaves)
    if (session.received.length > 0)
      await sql`update gateway.sessions set received = ${session.received} where session_key = ${key}`
  const emptied = leaves.filter(({ session }) => session.received.length === 0).map(({ key }) => key)
  if (emptied.length > 0)
    await sql`update gateway.sessions set received = '{}' where session_key = any(${emptied}) and received <> '{}'`
  if (known.length > 0)
    await sql`
      update gateway.session_messages m set packet_id = v.packet_id, released = v.released
      from unnest(
        ${known.map(({ key }) => key)}::text[], ${known.map(({ stored }) => stored)}::bigint[],
        ${known.map(({ packetId }) => packetId)}::integer[], ${known.map(({ released }) => released)}::boolean[]
      ) v (session_key, sequence, packet_id, released)
      where m.session_key = v.session_key and m.sequence = v.sequence`
  await insertMessages(sql, added)
}

async function insertMessages(sql: Sql, rows: ReturnType<typeof toMessageRow>[]) {
  for (let start = 0; start < rows.length; start += rowsAtOnce)
    await sql`insert into gateway.session_messages ${sql(rows.slice(start, start + rowsAtOnce) as never[])}`
}

const deleteMessages = (sql: Sql, steps: Of<'forget'>[]) => sql`
  delete from gateway.session_messages m
  using unnest(${steps.map(({ key }) => key)}::text[], ${steps.map(({ stored }) => stored)}::bigint[])
    v (session_key, sequence)
  where m.session_key = v.session_key and m.sequence = v.sequence`

async function enqueue(
  sql: Sql,
  deps: SessionStoreDeps,
  limits: QueueLimits,
  steps: Of<'enqueue'>[],
  answers: Answers,
) {
  const keys = [...new Set(steps.map(({ key }) => key))].sort()
  const now = deps.now()
  const sessions = await sql`
    select session_key, subscriptions from gateway.sessions
    where session_key = any(${keys}) and (expires_at is null or expires_at > ${now})
    order by session_key for update`
  const weights = await sql`
    select session_key, count(*) as count, sum(bytes) as bytes from gateway.session_messages
    where session_key = any(${keys}) group by session_key`
  const subscriptions = new Map(
    sessions.map((row) => [row.sessionKey as string, openSubscriptions(deps, row.subscriptions)]),
  )
  const weight = new Map(
    weights.map((row) => [row.sessionKey as string, { count: Number(row.count), bytes: Number(row.bytes) }]),
  )
  const added: ReturnType<typeof toMessageRow>[] = []
  for (const step of steps) {
    const { key, message } = step
    const qos = owedQos(subscriptions.get(key) ?? [], message)
    const held = weight.get(key) ?? { count: 0, bytes: 0 }
    const bytes = held.bytes + messageBytes(message)
    if (qos === 0) answers.set(step, 'gone')
    else if (held.count >= limits.queuedMessagesMax || bytes > limits.queuedBytesMax) answers.set(step, 'full')
    else {
      weight.set(key, { count: held.count + 1, bytes })
      const owed = { message: { ...message, qos }, packetId: 0, released: false, at: now.getTime() }
      added.push(toMessageRow(deps.secrets, key, owed))
      answers.set(step, 'queued')
    }
  }
  if (added.length === 0) return
  await insertMessages(sql, added)
  await deps.claims.queued(
    sql,
    keys.filter((key) => added.some(({ sessionKey }) => sessionKey === key)),
  )
}

/** What another data key has sealed is lost: such a session has no subscriptions, and is as good as new. */
function openSubscriptions({ secrets, log }: SessionStoreDeps, sealed: string) {
  try {
    return toSubscriptions(secrets, sealed)
  } catch (error) {
    log.error({ err: error }, 'the subscriptions of a session cannot be opened')
    return undefined
  }
}

async function load(sql: Sql, deps: SessionStoreDeps, steps: Of<'load'>[], answers: Answers) {
  const keys = steps.map(({ key }) => key)
  const now = deps.now()
  const rows = await sql`
    select s.session_key, s.expiry_seconds, s.subscriptions, s.received,
      (select n.node_id from gateway.nodes n where n.node_id = s.node_id and n.node_id <> ${deps.claims.nodeId}
        and n.seen_at > now() - make_interval(secs => ${silentSeconds})) as held_by,
      coalesce((select sum(m.bytes) from gateway.session_messages m where m.session_key = s.session_key), 0) as bytes
    from gateway.sessions s
    where s.session_key = any(${keys}) and (s.expires_at is null or s.expires_at > ${now})`
  const states = new Map<string, SessionState>()
  const holders = new Map<string, string | null>(rows.map((row) => [row.sessionKey, row.heldBy]))
  for (const { sessionKey, expirySeconds, subscriptions, received } of rows) {
    const opened = openSubscriptions(deps, subscriptions)
    if (!opened) continue
    states.set(sessionKey, {
      expirySeconds: expirySeconds ?? Infinity,
      subscriptions: opened,
      received,
      messages: [],
    })
  }
  const heavy = rows.filter((row) => Number(row.bytes) > 0 && states.has(row.sessionKey))
  for (const part of inParts(heavy.map((row) => ({ key: row.sessionKey as string, bytes: Number(row.bytes) }))))
    for (const row of await findMessages(sql, part, now))
      states.get(row.sessionKey)!.messages.push(toOwedMessage(deps.secrets, row))
  for (const step of steps)
    answers.set(step, { state: states.get(step.key), heldBy: holders.get(step.key) ?? null } satisfies Loaded)
}

function inParts(sessions: { key: string; bytes: number }[]): string[][] {
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

async function touchSessions(sql: Sql, sessions: { key: string; claim: number }[], now: Date): Promise<Standing[]> {
  const standing: Standing[] = []
  for (let start = 0; start < sessions.length; start += rowsAtOnce) {
    const some = sessions.slice(start, start + rowsAtOnce)
    const keys = some.map(({ key }) => key)
    await sql`
      update gateway.sessions set expires_at = ${now}::timestamptz + make_interval(secs => expiry_seconds)
      where session_key = any(${keys}) and expiry_seconds is not null`
    const rows = await sql<{ key: string; claim: number | null; waits: boolean }[]>`
      select key, s.claim, m.waits
      from unnest(${keys}::text[], ${some.map(({ claim }) => claim.toString())}::text[]::bigint[]) v (key, claim)
      left join gateway.sessions s on s.session_key = v.key,
      lateral (select exists (
        select from gateway.session_messages m where m.session_key = v.key and m.packet_id = 0) as waits) m
      where s.claim is null or s.claim > v.claim or m.waits`
    for (const { key, claim, waits } of rows) standing.push({ key, claim: claim ?? undefined, waits })
  }
  return standing
}

/** For a periodic task: what has expired goes, a part at a time. */
export async function sweepSessions(sql: Sql, now: Date) {
  for (;;) {
    const gone = await sql`
      delete from gateway.sessions where session_key in (
        select session_key from gateway.sessions where expires_at <= ${now} limit ${rowsAtOnce} for update skip locked
      )`
    if (gone.count < rowsAtOnce) break
  }
  await sql`delete from gateway.session_messages where expires_at <= ${now} and packet_id = 0`
}
