/**
 * Joins the subscriptions of several tabs into one stream. The hub runs in the shared worker, or in the tab if the browser has no shared
 * workers.
 */
import { createClientOf } from '../../../sdk/src/core.ts'
import type { LiveStream, LiveSubscription, StreamEvent } from '../../../sdk/src/stream.ts'

export type { LiveSubscription, StreamEvent }

/** Represents a tab of the browser. */
export interface Listener {
  /** Returns an access token. `rejected` is the token that the platform has rejected, if any. */
  token(rejected: string | undefined): Promise<string>
  receive(event: StreamEvent): void
}

export interface Hub {
  /** Sets the subscriptions of a listener. Their ids must be unique within the listener. */
  watch(listener: Listener, subscriptions: readonly LiveSubscription[]): void
  leave(listener: Listener): void
}

/**
 * Changes of subscriptions within this time become one request, because the components of a page subscribe one after the other when the
 * page opens.
 */
const debounceMs = 50
/**
 * A stream that the platform rejected is opened again after this time, because the cause, such as the end of a session, may no longer
 * exist.
 */
const reopenMs = 5_000

export function createHub(url: string): Hub {
  const listeners = new Map<Listener, { number: number; subscriptions: readonly LiveSubscription[] }>()
  let lastNumber = 0
  let stream: { live: LiveStream; stop: AbortController } | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  /** Asks one tab after the other for a token until a tab returns a token, because a tab in the background may have been closed. */
  async function token(rejected?: string): Promise<string> {
    let failure: unknown = new Error('no tab is open')
    for (const listener of [...listeners.keys()].reverse())
      try {
        return await listener.token(rejected)
      } catch (error) {
        failure = error
      }
    throw failure
  }

  const subscriptionsOfTabs = () =>
    [...listeners.values()].flatMap(({ number, subscriptions }) =>
      subscriptions.map((one) => ({ ...one, id: `${number}.${one.id}` })),
    )

  function deliver(event: StreamEvent) {
    if (!('subscription' in event)) {
      for (const listener of listeners.keys()) listener.receive(event)
      return
    }
    const [number, ...id] = event.subscription.split('.')
    for (const [listener, known] of listeners)
      if (String(known.number) === number) listener.receive({ ...event, subscription: id.join('.') })
  }

  async function follow(live: LiveStream, stop: AbortController) {
    try {
      for await (const event of live) deliver(event)
    } catch (error) {
      if (!stop.signal.aborted) openAgain(stop, error)
    }
  }

  /** Reports why the stream ended. After `reopenMs`, opens a new stream with the subscriptions that the tabs have then. */
  function openAgain(stop: AbortController, error: unknown) {
    if (stream?.stop !== stop) return
    close()
    deliver({ type: 'interrupted', reason: error instanceof Error ? error.message : String(error) })
    applyAfter(reopenMs)
  }

  function close() {
    stream?.stop.abort()
    stream = undefined
  }

  function apply() {
    if (listeners.size === 0) return close()
    if (stream) {
      const { live, stop } = stream
      live.update(subscriptionsOfTabs()).catch((error) => openAgain(stop, error))
      return
    }
    const stop = new AbortController()
    const client = createClientOf({} as Record<never, string>, { url, auth: token })
    stream = { live: client.live.stream(subscriptionsOfTabs(), { signal: stop.signal }), stop }
    void follow(stream.live, stop)
  }

  function applyAfter(ms: number) {
    clearTimeout(timer)
    timer = setTimeout(apply, ms)
  }

  return {
    watch(listener, subscriptions) {
      const known = listeners.get(listener)
      listeners.set(listener, { number: known?.number ?? ++lastNumber, subscriptions })
      applyAfter(debounceMs)
    },
    leave(listener) {
      listeners.delete(listener)
      applyAfter(debounceMs)
    },
  }
}
