/** Connections that many callers share. Statements are sent without waiting for earlier answers, and answers arrive in the same order. */
import { monotonicMs } from '../clock.ts'
import { DatabaseUseError } from './errors.ts'
import { createGroup } from './group.ts'
import type { Server } from './hosts.ts'
import type { Link, LinkOptions } from './link.ts'
import type { Answer } from './query.ts'
import type { Rows, Statement, StatementText } from './sql.ts'
import { sendStatement } from './statements.ts'

export interface Pipelined {
  run(statement: Statement): Promise<Rows>
  end(seconds: number): Promise<void>
}

/**
 * Maximum number of statements in flight on a connection. Further statements wait in the pool, where a broken connection does not affect
 * them.
 */
const inFlightMax = 100

/** Matches statements that change the state of a database session. On a shared connection, they would affect other callers. */
const changesSession =
  /^\s*(?:begin|start|commit|rollback|abort|end|savepoint|release|set|reset|discard|listen|unlisten|declare)\b/i

const checkedTexts = new WeakSet<StatementText>()

function rejectSessionStatement({ text }: Statement) {
  if (checkedTexts.has(text)) return
  if (changesSession.test(text.text))
    throw new DatabaseUseError(`The statement needs a transaction: ${text.text.trim().slice(0, 80)}`)
  checkedTexts.add(text)
}

/**
 * A statement that runs longer than this counts as slow. No further statements are sent behind it if another connection has no slow
 * statement.
 */
const slowMs = 5

/** Returns a number that is greater if a statement would wait longer on this connection. */
const busynessOf = ({ inFlight, waitingSince }: Link, slowSince: number) =>
  inFlight > 0 && waitingSince < slowSince ? inFlight + inFlightMax : inFlight

export function createPipelined(server: Server, max: number, options: LinkOptions): Pipelined {
  const openLinks: Link[] = []
  const waiting: { statement: Statement; answer: Answer<Rows>; retry: Retry | undefined }[] = []
  const group = createGroup(server, max, options, (link) => {
    removeLink(link)
    if (waiting.length > 0) openAnother()
  })

  type Retry = (statement: Statement, answer: Answer<Rows>) => void
  /** Sends the statement again, unprepared, because a plan that another caller prepares at the same time may be stale too. */
  const retryUnprepared: Retry = (statement, answer) => send({ ...statement, unprepared: true }, answer, undefined)

  function removeLink(link: Link) {
    const index = openLinks.indexOf(link)
    if (index >= 0) openLinks.splice(index, 1)
  }

  /**
   * Returns the connection with the fewest statements in flight. A connection that waits for a slow statement is chosen only if all
   * connections do.
   */
  function leastBusyLink(): Link | undefined {
    let best: Link | undefined
    let bestBusyness = Number.POSITIVE_INFINITY
    const slowSince = monotonicMs() - slowMs
    for (let i = openLinks.length - 1; i >= 0; i--) {
      const link = openLinks[i]!
      if (!group.isCurrent(link)) {
        openLinks.splice(i, 1)
        group.retire(link)
        continue
      }
      const busyness = busynessOf(link, slowSince)
      if (busyness > bestBusyness) continue
      best = link
      bestBusyness = busyness
    }
    return best
  }

  function send(statement: Statement, answer: Answer<Rows>, retry: Retry | undefined) {
    const link = leastBusyLink()
    if (link === undefined || link.inFlight >= inFlightMax) {
      waiting.push({ statement, answer, retry })
      openAnother()
      return
    }
    if (link.inFlight > 0) openAnother()
    sendStatement(link, statement, answer, retry ? { retry } : undefined)
  }

  function openAnother() {
    if (!group.hasRoom()) return
    group.open().then(
      (link) => {
        link.onAnswer = drain
        openLinks.push(link)
        drain()
      },
      (error) => {
        // No other connection is left for the statements that wait.
        if (group.size === 0) for (const { answer } of waiting.splice(0)) answer.reject(error)
      },
    )
  }

  function drain() {
    while (waiting.length > 0) {
      const link = leastBusyLink()
      if (link === undefined || link.inFlight >= inFlightMax) return
      const { statement, answer, retry } = waiting.shift()!
      sendStatement(link, statement, answer, retry ? { retry } : undefined)
    }
  }

  return {
    run(statement) {
      const ended = group.ended()
      if (ended) return Promise.reject(ended)
      rejectSessionStatement(statement)
      return new Promise((resolve, reject) => send(statement, { resolve, reject }, retryUnprepared))
    },
    async end(seconds) {
      await group.end(seconds)
      const ended = group.ended()
      for (const { answer } of waiting.splice(0)) answer.reject(ended)
    },
  }
}
