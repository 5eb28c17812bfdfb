/** Listens on one connection for all channels of a pool (LISTEN). It reconnects when the connection breaks. */
import { sleep } from '../clock.ts'
import { ConnectionError } from './errors.ts'
import type { Server } from './hosts.ts'
import { type Link, type LinkOptions, openLink } from './link.ts'
import { runText } from './statements.ts'

export interface Listening {
  unlisten(): Promise<void>
}

/** Called when listening starts or restarts, with the id of the server process for the connection. */
export type OnListen = (processId: number | undefined) => void

export interface Listener {
  listen(channel: string, onPayload: (payload: string) => void, onListen: OnListen): Promise<Listening>
  end(): Promise<void>
}

interface Subscription {
  channel: string
  onPayload: (payload: string) => void
  /** Called each time that listening starts. Notifications before that are lost. */
  onListen: OnListen
}

/**
 * The interval at which the connection is checked. Without checks and notifications, a broken connection would stay unnoticed for hours.
 */
const checkMs = 20_000
const answerMs = 10_000

const listenCommand = (channels: Iterable<string>) =>
  [...new Set(channels)].map((channel) => `listen "${channel.replaceAll('"', '""')}"`).join(';')

export function createListener(server: Server, options: LinkOptions): Listener {
  const subscriptions = new Set<Subscription>()
  let connecting: Promise<Link> | undefined
  let ended = false

  const channels = () => [...subscriptions].map(({ channel }) => channel)

  async function open(): Promise<Link> {
    const link = await server.tryHosts((host) => openLink(server, host, { ...options, statementSeconds: 0 }))
    link.onNotification = (channel, payload) => {
      for (const subscription of subscriptions) if (subscription.channel === channel) subscription.onPayload(payload)
    }
    const checkTimer = setInterval(() => void check(link), checkMs).unref()
    link.onLost = () => {
      clearInterval(checkTimer)
      connecting = undefined
      if (subscriptions.size > 0 && !ended) void reconnect()
    }
    if (link.lost) link.onLost(link.lost)
    return link
  }

  function connection(): Promise<Link> {
    connecting ??= open().catch((error) => {
      connecting = undefined
      throw error
    })
    return connecting
  }

  async function reconnect() {
    while (!ended && subscriptions.size > 0) {
      await sleep(100 + Math.random() * 200)
      const restarted = [...subscriptions]
      try {
        const link = await connection()
        await runText(link, listenCommand(channels()))
        for (const { onListen } of restarted) onListen(link.processId())
        return
      } catch {
        // The database is still unreachable. Callers that send statements get that error themselves.
      }
    }
  }

  async function check(link: Link) {
    const command = listenCommand(channels())
    if (command === '') return
    const answerTimer = setTimeout(
      () => link.destroy(new ConnectionError('CONNECTION_HUNG', 'The LISTEN connection did not answer in time')),
      answerMs,
    )
    await runText(link, command).catch(() => {})
    clearTimeout(answerTimer)
  }

  return {
    async listen(channel, onPayload, onListen) {
      const subscription = { channel, onPayload, onListen }
      const link = await connection()
      await runText(link, listenCommand([channel]))
      subscriptions.add(subscription)
      onListen(link.processId())
      // The connection may have broken before the subscription was added.
      if (link.lost) void reconnect()
      return {
        async unlisten() {
          subscriptions.delete(subscription)
          if (subscriptions.size === 0) await connecting?.then((last) => last.end()).catch(() => {})
        },
      }
    },
    async end() {
      ended = true
      await connecting?.then((link) => link.end()).catch(() => {})
    },
  }
}
