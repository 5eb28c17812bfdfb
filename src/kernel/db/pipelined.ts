/** Connections that many callers share: each sends its statement at once and the answers come in the same order. */
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

/** What further callers send waits here: it is not lost when the connection breaks, and may go to another. */
const inFlightMax = 100

/** Statements that change the state of a session: on a shared connection they would hit the statements of others. */
const ofSession =
  /^\s*(?:begin|start|commit|rollback|abort|end|savepoint|release|set|reset|discard|listen|unlisten|declare)\b/i

const checked = new WeakSet<StatementText>()

function check({ text }: Statement) {
  if (checked.has(text)) return
  if (ofSession.test(text.text)) throw new DatabaseUseError(`Needs a transaction: ${text.text.trim().slice(0, 80)}`)
  checked.add(text)
}

export function createPipelined(server: Server, max: number, options: LinkOptions): Pipelined {
  const ready: Link[] = []
  const waiting: { statement: Statement; answer: Answer<Rows>; again: Again | undefined }[] = []
  const group = createGroup(server, max, options, (link) => {
    leave(link)
    if (waiting.length > 0) grow()
  })

  type Again = (statement: Statement, answer: Answer<Rows>) => void
  /** Prepared by itself: what another caller is preparing at this moment may fail as well. */
  const again: Again = (statement, answer) => send({ ...statement, unprepared: true }, answer, undefined)

  function leave(link: Link) {
    const at = ready.indexOf(link)
    if (at >= 0) ready.splice(at, 1)
  }

  /** The connection with the fewest statements in flight. */
  function pick(): Link | undefined {
    let best: Link | undefined
    for (let i = ready.length - 1; i >= 0; i--) {
      const link = ready[i]!
      if (!group.isCurrent(link)) {
        ready.splice(i, 1)
        group.retire(link)
      } else if (best === undefined || link.inFlight <= best.inFlight) best = link
    }
    return best
  }

  function send(statement: Statement, answer: Answer<Rows>, retry: Again | undefined) {
    const link = pick()
    if (link === undefined || link.inFlight >= inFlightMax) {
      waiting.push({ statement, answer, again: retry })
      grow()
      return
    }
    if (link.inFlight > 0) grow()
    sendStatement(link, statement, answer, retry ? { again: retry } : undefined)
  }

  function grow() {
    if (!group.hasRoom()) return
    group.open().then(
      (link) => {
        link.onAnswer = drain
        ready.push(link)
        drain()
      },
      (error) => {
        // Nobody is left who could serve those that wait.
        if (group.size === 0) for (const { answer } of waiting.splice(0)) answer.reject(error)
      },
    )
  }

  function drain() {
    while (waiting.length > 0) {
      const link = pick()
      if (link === undefined || link.inFlight >= inFlightMax) return
      const { statement, answer, again: retry } = waiting.shift()!
      sendStatement(link, statement, answer, retry ? { again: retry } : undefined)
    }
  }

  return {
    run(statement) {
      const ended = group.ended()
      if (ended) return Promise.reject(ended)
      check(statement)
      return new Promise((resolve, reject) => send(statement, { resolve, reject }, again))
    },
    async end(seconds) {
      await group.end(seconds)
      const ended = group.ended()
      for (const { answer } of waiting.splice(0)) answer.reject(ended)
    },
  }
}
