/**
 * A limited number of connections. They are opened on demand and closed when idle. A connection is dropped when it hangs or when its server
 * becomes read-only.
 */
import { sleep } from '../clock.ts'
import { ConnectionError } from './errors.ts'
import type { Server } from './hosts.ts'
import { type Link, type LinkOptions, openLink } from './link.ts'

/** The state of a connection at the last sweep. A sweep checks all connections, every 5 s or less, and closes idle and hung connections. */
interface LastSweep {
  epoch: number
  answers: number
  isBusy: boolean
  /** Number of sweeps since the state last changed. */
  sweeps: number
}

export interface Group {
  readonly size: number
  /** Returns whether another connection may be opened. */
  hasRoom(): boolean
  open(): Promise<Link>
  /** Closes the connection when its statements are answered. It accepts no further statements. */
  retire(link: Link): void
  isCurrent(link: Link): boolean
  ended(): ConnectionError | undefined
  /** Prevents further connections. Returns the error for callers that request one. */
  stop(): ConnectionError
  /** Waits for running statements for at most this many seconds, then breaks the connections. */
  end(seconds: number): Promise<void>
}

const sweepMsMax = 5000
/**
 * An idle connection is closed after this time, because its server process keeps data about the tables and plans that it has used: 3 to 8
 * MB.
 */
const idleMs = 10_000
/**
 * A connection counts as hung if no answer has arrived for this many times the statement time limit. The factor is needed because a
 * transaction may raise its own limit.
 */
const hungAfterLimits = 4

export function createGroup(server: Server, max: number, options: LinkOptions, onLost: (link: Link) => void): Group {
  const links = new Map<Link, LastSweep>()
  let opening = 0
  let reconnectPause: Promise<void> | undefined
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
      if (!isBusy && !link.inUse && (link.retired || seen.sweeps * sweepMs >= idleMs)) retire(link)
      else if (isBusy && link.hasTimeLimit && seen.sweeps * sweepMs >= limitMs * hungAfterLimits)
        link.destroy(new ConnectionError('CONNECTION_HUNG', 'The database did not answer in time'))
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
        if (reconnectPause) await reconnectPause
        if (ended) throw ended
        const epoch = server.epoch
        const link = await server.tryHosts((host) => openLink(server, host, options))
        if (ended) {
          void link.end()
          throw ended
        }
        // The connection may have broken before `onLost` was set.
        if (link.lost) throw link.lost
        links.set(link, { epoch, answers: 0, isBusy: false, sweeps: 0 })
        link.onLost = () => remove(link)
        sweeping ??= setInterval(sweep, sweepMs).unref()
        return link
      } catch (error) {
        // The pause before the next attempt is short. It avoids flooding a server that is down, and lets the platform reconnect soon after
        // the server is back.
        reconnectPause ??= sleep(100 + Math.random() * 200).then(() => {
          reconnectPause = undefined
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
      const destroyTimer = setTimeout(() => {
        for (const link of links.keys()) link.destroy(reason)
      }, seconds * 1000)
      await Promise.all([...links.keys()].map((link) => link.end()))
      clearTimeout(destroyTimer)
    },
  }
}
