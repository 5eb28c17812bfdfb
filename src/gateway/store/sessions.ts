/** Stores MQTT sessions in PostgreSQL. Steps of many sessions share transactions. */
import { sleep } from '../../kernel/clock.ts'
import { isDatabaseUnavailable, type Sql } from '../../kernel/db.ts'
import type { LogMessage } from '../../kernel/define-log-message.ts'
import type { Message } from '../mqtt/host.ts'
import { holderNotRemoved, messageNotDeleted, sessionReleaseFailed } from '../mqtt/log-messages.ts'
import type { QueueLimits, SessionStore } from '../mqtt/session-store.ts'
import { commitToDisk, deleteHolders, restoreHolders } from './holders.ts'
import { createSessionBatches, splitIntoRounds } from './session-batches.ts'
import { load, touchSessions } from './session-reads.ts'
import { toSessionRow } from './session-rows.ts'
import type { Loaded, SessionStoreDeps, Step, StepOf, StepResults } from './session-steps.ts'
import { claim, deleteMessages, deleteSessions, enqueue, leaveSessions, upsertSessions } from './session-writes.ts'

const combinableKinds = new Set(['enqueue', 'delete-message'])
const attemptsMax = 3
const restoreBatchMax = 1000
/** Steps whose commit need not wait for the disk. */
const relaxedKinds = new Set<Step['kind']>(['claim', 'load', 'discard', 'remove-holder', 'release'])

export interface GatewaySessionStore extends SessionStore {
  /** Runs `enqueue` in the caller's transaction. */
  enqueueIn(sql: Sql, key: string, message: Message): Promise<'queued' | 'full' | 'gone'>
}

export function createSessionStore(deps: SessionStoreDeps, limits: QueueLimits): GatewaySessionStore {
  const { db, log, now, claims } = deps
  // The limits fit 20,000 clients that connect at the same time, because each CONNECT takes two steps.
  const batches = createSessionBatches<Step>(run, { atOnce: 256, waitingMax: 40_000 })

  async function run(steps: Step[]): Promise<StepResults> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await db.tx(async (sql) => {
          const answers: StepResults = new Map()
          const relaxed = steps.every(({ kind }) => relaxedKinds.has(kind))
          for (const round of splitIntoRounds(steps, combinableKinds))
            await runRound(sql, deps, limits, round, answers, relaxed)
          return answers
        })
      } catch (error) {
        if (attempt === attemptsMax || !isDatabaseUnavailable(error)) throw error
        await sleep(200 * attempt)
      }
    }
  }

  function runLater(step: Step, failed: LogMessage) {
    batches.run(step).catch((error) => failed(log, { err: error }))
  }

  return {
    claim: (key, clean) => batches.run({ kind: 'claim', key, clean }),
    async load(key, claimed = false) {
      const expected = claims.expectRelease(key)
      try {
        const { state, heldBy } = await batches.run<Loaded>({ kind: 'load', key })
        if (!claimed || heldBy === null) return state
        await expected.released(heldBy)
        return (await batches.run<Loaded>({ kind: 'load', key })).state
      } finally {
        expected.end()
      }
    },
    save: (key, claim, session) => batches.run({ kind: 'save', key, claim, session }),
    leave: (key, claim, session, yieldedTo) => batches.run({ kind: 'leave', key, claim, session, yieldedTo }),
    discard: (key, claim) => batches.run({ kind: 'discard', key, claim }),
    removeHolder: (key, claim) => runLater({ kind: 'remove-holder', key, claim }, holderNotRemoved),
    release(key, to) {
      if (to) runLater({ kind: 'release', key, to }, sessionReleaseFailed)
    },
    async restoreHolders(sessions) {
      for (let start = 0; start < sessions.length; start += restoreBatchMax)
        await restoreHolders(db.sql, claims.nodeId, sessions.slice(start, start + restoreBatchMax))
    },
    enqueue: (key, message) => batches.run({ kind: 'enqueue', key, message }),
    async enqueueIn(sql, key, message) {
      const step: StepOf<'enqueue'> = { kind: 'enqueue', key, message }
      const answers: StepResults = new Map()
      await enqueue(sql, deps, limits, [step], answers)
      return answers.get(step) as 'queued' | 'full' | 'gone'
    },
    deleteMessage: (key, storeId) => runLater({ kind: 'delete-message', key, storeId }, messageNotDeleted),
    touch: (sessions) => touchSessions(db.sql, sessions, now()),
    close: () => batches.settled(),
  }
}

async function runRound(
  sql: Sql,
  deps: SessionStoreDeps,
  limits: QueueLimits,
  steps: Step[],
  answers: StepResults,
  relaxed: boolean,
) {
  const stepsOf = <K extends Step['kind']>(kind: K) => steps.filter((step): step is StepOf<K> => step.kind === kind)
  const [claims, discards, saves, leaves] = [stepsOf('claim'), stepsOf('discard'), stepsOf('save'), stepsOf('leave')]
  const [removedHolders, released, enqueues, deletedMessages, loads] = [
    stepsOf('remove-holder'),
    stepsOf('release'),
    stepsOf('enqueue'),
    stepsOf('delete-message'),
    stepsOf('load'),
  ]
  const now = deps.now()
  if (claims.length > 0) await claim(sql, deps, claims, answers, relaxed)
  // This commit waits for the disk, because a discarded session must not reappear after a crash.
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
  if (awaited.length > 0) await deps.claims.announceReleases(sql, awaited)
  if (deletedMessages.length > 0) await deleteMessages(sql, deletedMessages)
  if (enqueues.length > 0) await enqueue(sql, deps, limits, enqueues, answers)
  if (loads.length > 0) await load(sql, deps, loads, answers)
}
