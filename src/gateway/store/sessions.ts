/** Stores MQTT sessions in PostgreSQL. Steps of many sessions share transactions. */
import { sleep } from '../../kernel/clock.ts'
import { isConnectionFailure, type Sql } from '../../kernel/db.ts'
import type { LogMessage } from '../../kernel/define-log-message.ts'
import type { Message } from '../mqtt/host.ts'
import { holderNotRemoved, messageNotDeleted, sessionReleaseFailed } from '../mqtt/log-messages.ts'
import type { QueueLimits, SessionStore } from '../mqtt/session-store.ts'
import { commitToDisk, deleteHolders, restoreHolders } from './holders.ts'
import { createSessionBatches, splitIntoRounds } from './session-batches.ts'
import { load, touchSessions } from './session-reads.ts'
import { toSessionRow } from './session-rows.ts'
import type { Answers, Loaded, Of, SessionStoreDeps, Step } from './session-steps.ts'
import { claim, deleteMessages, deleteSessions, enqueue, leaveSessions, upsertSessions } from './session-writes.ts'

const together = new Set(['enqueue', 'delete-message'])
const attemptsMax = 3
const heldAtOnce = 1000
/** Steps whose commit need not wait for the disk. */
const isRelaxed = new Set<Step['kind']>(['claim', 'load', 'discard', 'remove-holder', 'release'])

export interface GatewaySessionStore extends SessionStore {
  /** `enqueue` in the caller's transaction. */
  enqueueIn(sql: Sql, key: string, message: Message): Promise<'queued' | 'full' | 'gone'>
}

export function createSessionStore(deps: SessionStoreDeps, limits: QueueLimits): GatewaySessionStore {
  const { db, log, now, claims } = deps
  // A CONNECT takes two steps.
  const rounds = createSessionBatches<Step>(run, { atOnce: 256, waitingMax: 40_000 })

  async function run(steps: Step[]): Promise<Answers> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await db.tx(async (sql) => {
          const answers: Answers = new Map()
          const relaxed = steps.every(({ kind }) => isRelaxed.has(kind))
          for (const round of splitIntoRounds(steps, together))
            await runRound(sql, deps, limits, round, answers, relaxed)
          return answers
        })
      } catch (error) {
        if (attempt === attemptsMax || !isConnectionFailure(error)) throw error
        await sleep(200 * attempt)
      }
    }
  }

  function runLater(step: Step, failed: LogMessage) {
    rounds.ask(step).catch((error) => failed(log, { err: error }))
  }

  return {
    claim: (key, clean) => rounds.ask({ kind: 'claim', key, clean }),
    async load(key, claimed = false) {
      const expected = claims.expect(key)
      try {
        const { state, heldBy } = await rounds.ask<Loaded>({ kind: 'load', key })
        if (!claimed || heldBy === null) return state
        await expected.released(heldBy)
        return (await rounds.ask<Loaded>({ kind: 'load', key })).state
      } finally {
        expected.end()
      }
    },
    save: (key, claim, session) => rounds.ask({ kind: 'save', key, claim, session }),
    leave: (key, claim, session, yieldedTo) => rounds.ask({ kind: 'leave', key, claim, session, yieldedTo }),
    discard: (key, claim) => rounds.ask({ kind: 'discard', key, claim }),
    removeHolder: (key, claim) => runLater({ kind: 'remove-holder', key, claim }, holderNotRemoved),
    release(key, to) {
      if (to) runLater({ kind: 'release', key, to }, sessionReleaseFailed)
    },
    async hold(sessions) {
      for (let start = 0; start < sessions.length; start += heldAtOnce)
        await restoreHolders(db.sql, claims.nodeId, sessions.slice(start, start + heldAtOnce))
    },
    enqueue: (key, message) => rounds.ask({ kind: 'enqueue', key, message }),
    async enqueueIn(sql, key, message) {
      const step: Of<'enqueue'> = { kind: 'enqueue', key, message }
      const answers: Answers = new Map()
      await enqueue(sql, deps, limits, [step], answers)
      return answers.get(step) as 'queued' | 'full' | 'gone'
    },
    deleteMessage: (key, storeId) => runLater({ kind: 'delete-message', key, storeId }, messageNotDeleted),
    touch: (sessions) => touchSessions(db.sql, sessions, now()),
    close: () => rounds.settled(),
  }
}

async function runRound(
  sql: Sql,
  deps: SessionStoreDeps,
  limits: QueueLimits,
  steps: Step[],
  answers: Answers,
  relaxed: boolean,
) {
  const of = <K extends Step['kind']>(kind: K) => steps.filter((step): step is Of<K> => step.kind === kind)
  const [claims, discards, saves, leaves] = [of('claim'), of('discard'), of('save'), of('leave')]
  const [removedHolders, released, enqueues, deletedMessages, loads] = [
    of('remove-holder'),
    of('release'),
    of('enqueue'),
    of('delete-message'),
    of('load'),
  ]
  const now = deps.now()
  if (claims.length > 0) await claim(sql, deps, claims, answers, relaxed)
  // A discarded session must not reappear after a crash: this commit waits for the disk.
  if (discards.length > 0 && (await deleteSessions(sql, discards)).count > 0 && relaxed) await commitToDisk(sql)
  const rows = [...saves, ...leaves].map((step) => toSessionRow(deps.secrets, step, now))
  const written = rows.length > 0 ? await upsertSessions(sql, rows) : new Set()
  if (leaves.length > 0)
    await leaveSessions(
      sql,
      deps,
      leaves.filter(({ key }) => written.has(key)),
    )
  const ended = [...removedHolders, ...leaves, ...discards].flatMap(({ key, claim }) =>
    claim === undefined ? [] : [{ key, claim }],
  )
  if (ended.length > 0) await deleteHolders(sql, ended)
  const awaited = [
    ...released.map(({ key, to }) => ({ key, to })),
    ...leaves.flatMap(({ key, yieldedTo: to }) => (to ? [{ key, to }] : [])),
  ]
  if (awaited.length > 0) await deps.claims.release(sql, awaited)
  if (deletedMessages.length > 0) await deleteMessages(sql, deletedMessages)
  if (enqueues.length > 0) await enqueue(sql, deps, limits, enqueues, answers)
  if (loads.length > 0) await load(sql, deps, loads, answers)
}
