/** MQTT sessions in PostgreSQL; steps of many sessions share transactions. */
import { sleep } from '../../kernel/clock.ts'
import { isConnectionTrouble, type Sql } from '../../kernel/db.ts'
import type { QueueLimits, SessionStore } from '../mqtt/session-store.ts'
import { createRounds, intoRounds } from './rounds.ts'
import { load, touchSessions } from './session-reads.ts'
import { toSessionRow } from './session-rows.ts'
import type { Answers, Loaded, Of, SessionStoreDeps, Step } from './session-steps.ts'
import { claim, deleteMessages, deleteSessions, enqueue, leaveSessions, upsertSessions } from './session-writes.ts'

const together = new Set(['enqueue', 'forget'])
const attemptsMax = 3

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
