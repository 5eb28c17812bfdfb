/** The shared worker: one live stream for all tabs of a tenant, because a browser opens at most six connections to a host. */
import { createHub, type Hub, type Listener, type LiveSubscription, type StreamEvent } from './live-hub.ts'

export type ToWorker =
  | { kind: 'watch'; tenant: string; url: string; subscriptions: LiveSubscription[] }
  | { kind: 'token'; request: number; token?: string }
  | { kind: 'alive' }
  | { kind: 'leave' }

export type FromWorker =
  | { kind: 'event'; event: StreamEvent }
  | { kind: 'token'; request: number; rejected: string | undefined }

const hubs = new Map<string, Hub>()
const tokenMs = 15_000
/**
 * A tab that sends no message for this time counts as closed. A hidden tab sends a message only once a minute, because browsers slow down
 * its timers.
 */
const silentMs = 200_000

function connect(port: MessagePort) {
  const waiting = new Map<number, (message: { token?: string }) => void>()
  let hub: Hub | undefined
  let lastRequest = 0
  let silence: ReturnType<typeof setTimeout> | undefined
  const send = (message: FromWorker) => port.postMessage(message)
  const listener: Listener = {
    receive: (event) => send({ kind: 'event', event }),
    token: (rejected) =>
      new Promise((resolve, reject) => {
        const request = ++lastRequest
        const fail = setTimeout(() => reject(new Error('the tab did not answer')), tokenMs)
        waiting.set(request, ({ token }) => {
          clearTimeout(fail)
          waiting.delete(request)
          if (token === undefined) reject(new Error('the session has ended'))
          else resolve(token)
        })
        send({ kind: 'token', request, rejected })
      }),
  }
  const leave = () => {
    clearTimeout(silence)
    hub?.leave(listener)
  }
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    clearTimeout(silence)
    silence = setTimeout(leave, silentMs)
    if (data.kind === 'leave') leave()
    if (data.kind === 'token') waiting.get(data.request)?.(data)
    if (data.kind !== 'watch') return
    const key = `${data.url} ${data.tenant}`
    hub = hubs.get(key) ?? createHub(data.url)
    hubs.set(key, hub)
    hub.watch(listener, data.subscriptions)
  }
}

addEventListener('connect', (event) => {
  for (const port of (event as MessageEvent).ports) connect(port)
})
