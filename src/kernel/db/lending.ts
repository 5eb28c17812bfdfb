/** Connections that have one owner at a time: a transaction, a COPY, or a text of several statements. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { monotonicMs, sleep } from '../clock.ts'
import { ConnectionError, DatabaseUseError } from './errors.ts'
import { createGroup } from './group.ts'
import type { Server } from './hosts.ts'
import type { Link, LinkOptions } from './link.ts'

export interface Lending {
  /** The connection belongs to `work` until it ends; broken or unfinished ones are not used again. */
  withLink<T>(work: (link: Link) => Promise<T>): Promise<T>
  end(seconds: number): Promise<void>
}

interface Waiter {
  resolve(link: Link): void
  reject(error: unknown): void
  timer: NodeJS.Timeout
}

/** Longer than this nobody waits for a connection. */
const waitSeconds = 30

/** The connections that the code that runs now holds, the last one first. */
interface Holder {
  held: boolean
  readonly of: Lending
  readonly outer: Holder | undefined
}

const holding = new AsyncLocalStorage<Holder>()

/** Those that hold nothing any more are forgotten: a loop that never ends starts each transaction from within the last. */
function stillHeld(holder: Holder | undefined): Holder | undefined {
  let one = holder
  while (one !== undefined && !one.held) one = one.outer
  return one
}

function isHeldBy(holder: Holder | undefined, lending: Lending): boolean {
  for (let one = holder; one !== undefined; one = one.outer) if (one.held && one.of === lending) return true
  return false
}

export function createLending(server: Server, max: number, options: LinkOptions): Lending {
  const idle: Link[] = []
  const waiters: Waiter[] = []
  let lent = 0
  let allBack = () => {}
  const group = createGroup(server, max, options, (link) => {
    const at = idle.indexOf(link)
    if (at >= 0) idle.splice(at, 1)
    if (waiters.length > 0) grow()
  })

  function takeIdle(): Link | undefined {
    for (let link = idle.pop(); link !== undefined; link = idle.pop()) {
      if (group.isCurrent(link)) return link
      group.retire(link)
    }
    return undefined
  }

  function serve(link: Link) {
    const waiter = waiters.shift()
    if (!waiter) {
      idle.push(link)
      return
    }
    clearTimeout(waiter.timer)
    waiter.resolve(link)
  }

  function grow() {
    if (!group.hasRoom()) return
    group.open().then(serve, (error) => {
      if (group.size === 0) rejectAll(error)
    })
  }

  function rejectAll(error: unknown) {
    for (const { reject, timer } of waiters.splice(0)) {
      clearTimeout(timer)
      reject(error)
    }
  }

  function take(): Link | Promise<Link> {
    const ended = group.ended()
    if (ended) throw ended
    const link = takeIdle()
    if (link) return link
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { resolve, reject, timer: setTimeout(giveUp, waitSeconds * 1000) }
      function giveUp() {
        waiters.splice(waiters.indexOf(waiter), 1)
        reject(new ConnectionError('CONNECTION_WAIT', `No database connection became free within ${waitSeconds} s`))
      }
      waiters.push(waiter)
      grow()
    })
  }

  function giveBack(link: Link) {
    link.lent = false
    link.limited = options.statementSeconds > 0
    lent--
    if (link.lost) {
      if (waiters.length > 0) grow()
    } else if (!link.isIdleOutsideTransaction())
      link.destroy(new ConnectionError('CONNECTION_CLOSED', 'The connection was left in an unfinished state'))
    else if (group.isCurrent(link)) serve(link)
    else group.retire(link)
    if (lent === 0) allBack()
  }

  const lending: Lending = {
    async withLink(work) {
      const holder = holding.getStore()
      if (isHeldBy(holder, lending))
        throw new DatabaseUseError(
          'A transaction was opened inside a transaction: pass its sql on, or open it after the first one ended',
        )
      const link = await take()
      lent++
      link.lent = true
      const own: Holder = { held: true, of: lending, outer: stillHeld(holder) }
      try {
        return await holding.run(own, () => work(link))
      } finally {
        own.held = false
        giveBack(link)
      }
    },
    async end(seconds) {
      const began = monotonicMs()
      rejectAll(group.stop())
      if (lent > 0 && seconds > 0) {
        const back = new Promise<void>((resolve) => {
          allBack = resolve
        })
        await Promise.race([back, sleep(seconds * 1000)])
      }
      await group.end(Math.max(0, seconds - (monotonicMs() - began) / 1000))
    },
  }
  return lending
}
