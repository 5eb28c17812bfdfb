/** A number of connections: opened when needed, closed when idle, given up when hung or when their server turned read-only. */
import { sleep } from '../clock.ts'
import { ConnectionError } from './errors.ts'
import type { Server } from './hosts.ts'
import { type Link, type LinkOptions, openLink } from './link.ts'

/** A connection at the last sweep, and how often it was the same. */
interface Seen {
  epoch: number
  answers: number
  isBusy: boolean
  sweeps: number
}

export interface Group {
  readonly size: number
  /** Whether another connection may be opened. */
  hasRoom(): boolean
  open(): Promise<Link>
  /** Takes no further statements; it ends when those that it has are answered. */
  retire(link: Link): void
  isCurrent(link: Link): boolean
  ended(): ConnectionError | undefined
  /** Opens no further connection. */
  stop(): ConnectionError
  /** Waits for what is under way for at most so many seconds, then breaks the connections. */
  end(seconds: number): Promise<void>
}

const sweepMsMax = 5000
const idleMs = 30_000
/** So many times the limit of statements may pass without an answer: a transaction may raise its own. */
const hungAfterLimits = 4

export function createGroup(server: Server, max: number, options: LinkOptions, onLost: (link: Link) => void): Group {
  const links = new Map<Link, Seen>()
  let opening = 0
  let pause: Promise<void> | undefined
  let ended: ConnectionError | undefined
  let sweeping: NodeJS.Timeout | undefined
  const limitMs = options.statementSeconds * 1000
  const sweepMs = limitMs > 0 ? Math.min(sweepMsMax, limitMs) : sweepMsMax

  function sweep() {
    for (const [link, seen] of links) {
      const isBusy = link.inFlight > 0
      const isSame = link.answers === seen.answers && isBusy === seen.isBusy
      seen.sweeps = isSame ? seen.sweeps + 1 : 0
      seen.answers = link.answers
      seen.isBusy = isBusy
      if (!isBusy && !link.lent && (link.retired || seen.sweeps * sweepMs >= idleMs)) retire(link)
      else if (isBusy && link.limited && seen.sweeps * sweepMs >= limitMs * hungAfterLimits)
        link.destroy(new ConnectionError('CONNECTION_HUNG', 'The database has not answered for too long'))
    }
  }
  function retire(link: Link) {
    void link.end()
  }
  function stop() {
    ended ??= new ConnectionError('CONNECTION_ENDED', 'The database connections of this process are closed')
    return ended
  }
  function remove(link: Link) {
    links.delete(link)
    if (links.size === 0) {
      clearInterval(sweeping)
      sweeping = undefined
    }
    onLost(link)
  }

  return {
    get size() {
      return links.size
    },
    hasRoom: () => links.size + opening < max,
    async open() {
      opening++
      try {
        if (pause) await pause
        if (ended) throw ended
        const epoch = server.epoch
        const link = await server.reach((host) => openLink(server, host, options))
        if (ended) {
          void link.end()
          throw ended
        }
        // It may have broken since: then nobody tells us any more.
        if (link.lost) throw link.lost
        links.set(link, { epoch, answers: 0, isBusy: false, sweeps: 0 })
        link.onLost = () => remove(link)
        sweeping ??= setInterval(sweep, sweepMs).unref()
        return link
      } catch (error) {
        // Callers must not ask a server that is down again and again, nor wait for long once it is back.
        pause ??= sleep(100 + Math.random() * 200).then(() => {
          pause = undefined
        })
        throw error
      } finally {
        opening--
      }
    },
    retire,
    isCurrent: (link) => !link.retired && links.get(link)?.epoch === server.epoch,
    ended: () => ended,
    stop,
    async end(seconds) {
      const reason = stop()
      const overdue = setTimeout(() => {
        for (const link of links.keys()) link.destroy(reason)
      }, seconds * 1000)
      await Promise.all([...links.keys()].map((link) => link.end()))
      clearTimeout(overdue)
    },
  }
}
