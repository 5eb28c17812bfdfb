/** Connections that have one owner at a time: a transaction, a COPY, or a text of several statements. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { monotonicMs, sleep } from '../clock.ts'
import { ConnectionError, DatabaseUseError } from './errors.ts'
import { createGroup } from './group.ts'
import type { Server } from './hosts.ts'
import type { Link, LinkOptions } from './link.ts'

export interface ExclusiveConnections {
  /** Runs `work` with a connection of its own. A connection that is broken or has not finished its work is not used again. */
  withLink<T>(work: (link: Link) => Promise<T>): Promise<T>
  end(seconds: number): Promise<void>
}

interface Waiter {
  resolve(link: Link): void
  reject(error: unknown): void
  timer: NodeJS.Timeout
}

/** The longest time that a caller waits for a free connection. */
const waitSeconds = 30

/**
 * Records that the running code has taken a connection of `pool`. `outer` is the record of the code that called this code, if that code had
 * taken a connection.
 */
interface Holder {
  isHeld: boolean
  readonly pool: ExclusiveConnections
  readonly outer: Holder | undefined
}

const currentHolder = new AsyncLocalStorage<Holder>()

/**
 * Skips records of connections that were released. Otherwise an endless loop of transactions would lengthen the chain of `outer` forever.
 */
function nearestHeld(holder: Holder | undefined): Holder | undefined {
  let current = holder
  while (current !== undefined && !current.isHeld) current = current.outer
  return current
}

function isHeldBy(holder: Holder | undefined, pool: ExclusiveConnections): boolean {
  for (let current = holder; current !== undefined; current = current.outer)
    if (current.isHeld && current.pool === pool) return true
  return false
}

/** Callers that wait for a connection, in order. */
function createWaiters() {
  const waiters: Waiter[] = []
  return {
    size: () => waiters.length,
    wait: () =>
      new Promise<Link>((resolve, reject) => {
        const waiter: Waiter = { resolve, reject, timer: setTimeout(giveUp, waitSeconds * 1000) }
        function giveUp() {
          waiters.splice(waiters.indexOf(waiter), 1)
          reject(new ConnectionError('CONNECTION_WAIT', `No database connection was free within ${waitSeconds} s`))
        }
        waiters.push(waiter)
      }),
    /** Gives the connection to the first waiter; returns false if no caller waits. */
    serve(link: Link): boolean {
      const waiter = waiters.shift()
      if (!waiter) return false
      clearTimeout(waiter.timer)
      waiter.resolve(link)
      return true
    },
    rejectAll(error: unknown) {
      for (const { reject, timer } of waiters.splice(0)) {
        clearTimeout(timer)
        reject(error)
      }
    },
  }
}

export function createExclusiveConnections(server: Server, max: number, options: LinkOptions): ExclusiveConnections {
  const idle: Link[] = []
  const waiters = createWaiters()
  let inUse = 0
  let onAllReleased = () => {}
  const group = createGroup(server, max, options, (link) => {
    const index = idle.indexOf(link)
    if (index >= 0) idle.splice(index, 1)
    if (waiters.size() > 0) openAnother()
  })

  function takeIdle(): Link | undefined {
    for (let link = idle.pop(); link !== undefined; link = idle.pop()) {
      if (group.isCurrent(link)) return link
      group.retire(link)
    }
    return undefined
  }

  function giveToWaiter(link: Link) {
    if (!waiters.serve(link)) idle.push(link)
  }

  function openAnother() {
    if (!group.hasRoom()) return
    group.open().then(giveToWaiter, (error) => {
      if (group.size === 0) waiters.rejectAll(error)
    })
  }

  function acquire(): Link | Promise<Link> {
    const ended = group.ended()
    if (ended) throw ended
    const link = takeIdle()
    if (link) return link
    const waiting = waiters.wait()
    openAnother()
    return waiting
  }

  function release(link: Link) {
    link.inUse = false
    link.hasTimeLimit = options.statementSeconds > 0
    inUse--
    if (link.lost) {
      if (waiters.size() > 0) openAnother()
    } else if (!link.isIdleOutsideTransaction())
      link.destroy(new ConnectionError('CONNECTION_CLOSED', 'The connection was left in an unfinished state'))
    else if (group.isCurrent(link)) giveToWaiter(link)
    else group.retire(link)
    if (inUse === 0) onAllReleased()
  }

  const exclusive: ExclusiveConnections = {
    async withLink(work) {
      const holder = currentHolder.getStore()
      if (isHeldBy(holder, exclusive))
        throw new DatabaseUseError(
          'A transaction was opened inside a transaction: pass on the sql of the outer transaction, or open the second transaction after the first has ended',
        )
      const link = await acquire()
      inUse++
      link.inUse = true
      const newHolder: Holder = { isHeld: true, pool: exclusive, outer: nearestHeld(holder) }
      try {
        return await currentHolder.run(newHolder, () => work(link))
      } finally {
        newHolder.isHeld = false
        release(link)
      }
    },
    async end(seconds) {
      const began = monotonicMs()
      waiters.rejectAll(group.stop())
      if (inUse > 0 && seconds > 0) {
        const released = new Promise<void>((resolve) => {
          onAllReleased = resolve
        })
        await Promise.race([released, sleep(seconds * 1000)])
      }
      await group.end(Math.max(0, seconds - (monotonicMs() - began) / 1000))
    },
  }
  return exclusive
}
