/** Live topics for pages. All tabs of a tenant share one stream. */
import { useEffect, useId, useRef, useState, useSyncExternalStore } from 'react'
import { useSession } from './client.ts'
import { createHub, type Listener, type LiveSubscription, type StreamEvent } from './live-hub.ts'
import type { FromWorker, ToWorker } from './live-worker.ts'
import { baseUrl, workerPath } from './platform.ts'
import type { Session } from './session.ts'

export type LiveTopic = Omit<LiveSubscription, 'id'> & { topic: string }

export type LiveState =
  | { kind: 'connecting' }
  | { kind: 'live' }
  /** The connection broke; the page reconnects by itself. */
  | { kind: 'interrupted'; reason: string }
  /** The platform ended the subscription, for example because a permission was withdrawn. */
  | { kind: 'ended'; message: string; status: number }

export interface LiveHandlers {
  onItems(items: Record<string, unknown>[], topic: string): void
  /** Called when the page may have missed events. The page must then read its data again. */
  onGap?(topic: string): void
}

interface Tab {
  watch(subscriptions: LiveSubscription[]): void
  close(): void
}

const aliveMs = 30_000

function openOwnStream(session: Session, receive: (event: StreamEvent) => void): Tab {
  const hub = createHub(baseUrl)
  const listener: Listener = { token: (rejected) => session.token(rejected), receive }
  return { watch: (subscriptions) => hub.watch(listener, subscriptions), close: () => hub.leave(listener) }
}

/**
 * Opens the shared worker. Returns undefined if the browser has no shared workers, or denies them, as some browsers do when the user has
 * blocked storage.
 */
function openWorker(): SharedWorker | undefined {
  if (typeof SharedWorker === 'undefined' || workerPath === '') return undefined
  try {
    return new SharedWorker(workerPath, { type: 'module', name: 'waypost-live' })
  } catch {
    return undefined
  }
}

/** Connects the tab to the worker that all tabs share, or opens a separate stream for the tab. */
function openTab(session: Session, receive: (event: StreamEvent) => void): Tab {
  const worker = openWorker()
  if (!worker) return openOwnStream(session, receive)
  let watched: LiveSubscription[] = []
  let own: Tab | undefined
  const shared = openSharedStream(session, worker, receive)
  // After an upgrade, the file of the worker may no longer exist. The tab then opens a stream of its own.
  worker.onerror = () => {
    own ??= openOwnStream(session, receive)
    own.watch(watched)
  }
  return {
    watch(subscriptions) {
      watched = subscriptions
      ;(own ?? shared).watch(subscriptions)
    },
    close() {
      own?.close()
      shared.close()
    },
  }
}

function openSharedStream(session: Session, { port }: SharedWorker, receive: (event: StreamEvent) => void): Tab {
  const { tenant } = session
  const send = (message: ToWorker) => port.postMessage(message)
  port.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    if (data.kind === 'event') return receive(data.event)
    const { request, rejected } = data
    session.token(rejected).then(
      (token) => send({ kind: 'token', request, token }),
      () => send({ kind: 'token', request }),
    )
  }
  const timer = setInterval(() => send({ kind: 'alive' }), aliveMs)
  const leave = () => send({ kind: 'leave' })
  addEventListener('pagehide', leave)
  return {
    watch: (subscriptions) => send({ kind: 'watch', tenant, url: baseUrl, subscriptions }),
    close() {
      clearInterval(timer)
      removeEventListener('pagehide', leave)
      leave()
      port.close()
    },
  }
}

/** Collects the live subscriptions of all components of the page, and delivers events to these components. */
interface TabHub {
  /** Returns why the stream is interrupted, or undefined while it is connected. */
  interruption(): string | undefined
  onInterruption(listener: () => void): () => void
  add(key: string, topics: LiveTopic[], receive: (event: StreamEvent) => void): () => void
}

const tabHubs = new WeakMap<Session, TabHub>()

function tabHubOf(session: Session): TabHub {
  const known = tabHubs.get(session)
  if (known) return known
  const parts = new Map<string, { topics: LiveTopic[]; receive(event: StreamEvent): void }>()
  const listeners = new Set<() => void>()
  let interruption: string | undefined
  let tab: Tab | undefined
  const updateInterruption = (event: StreamEvent) => {
    const reason = event.type === 'interrupted' ? event.reason : undefined
    if (reason === interruption) return
    interruption = reason
    for (const listener of listeners) listener()
  }
  const apply = () => {
    tab ??= openTab(session, (event) => {
      updateInterruption(event)
      const owner = 'subscription' in event ? event.subscription.split('.')[0] : undefined
      for (const [key, { receive }] of parts) if (owner === undefined || owner === key) receive(event)
    })
    tab.watch(
      [...parts].flatMap(([key, { topics }]) => topics.map((topic, index) => ({ ...topic, id: `${key}.${index}` }))),
    )
    if (parts.size > 0) return
    tab.close()
    tab = undefined
  }
  const hub: TabHub = {
    interruption: () => interruption,
    onInterruption(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    add(key, topics, receive) {
      parts.set(key, { topics, receive })
      apply()
      return () => {
        parts.delete(key)
        apply()
      }
    },
  }
  tabHubs.set(session, hub)
  return hub
}

/** Returns why live updates are interrupted, or undefined while they arrive. */
export function useInterruption(): string | undefined {
  const { session } = useSession()
  const hub = tabHubOf(session)
  return useSyncExternalStore(hub.onInterruption, hub.interruption)
}

/** Calls the listener when the permissions of the caller have changed. Keeps the stream open for this, even on pages without topics. */
export function usePermissionChanges(onChange: () => void) {
  const { session } = useSession()
  const key = useId().replace(/\W/g, '')
  const current = useRef(onChange)
  current.current = onChange
  useEffect(
    () =>
      tabHubOf(session).add(key, [], (event) => {
        if (event.type === 'permissions') current.current()
      }),
    [session, key],
  )
}

/** Watches topics while the component is shown. Returns the state of this subscription. */
export function useLive(topics: LiveTopic[], handlers: LiveHandlers, { enabled = true } = {}): LiveState {
  const { session } = useSession()
  const key = useId().replace(/\W/g, '')
  const [state, setState] = useState<LiveState>({ kind: 'connecting' })
  const current = useRef(handlers)
  current.current = handlers
  const shape = JSON.stringify(topics)
  useEffect(() => {
    const topics = JSON.parse(shape) as LiveTopic[]
    if (!enabled || topics.length === 0) return
    return tabHubOf(session).add(key, topics, (event) => {
      if (event.type === 'items') current.current.onItems(event.items, event.topic)
      if (event.type === 'gap') current.current.onGap?.(event.topic)
      if (event.type === 'subscribed') setState({ kind: 'live' })
      if (event.type === 'interrupted') setState({ kind: 'interrupted', reason: event.reason })
      if (event.type === 'ended') setState({ kind: 'ended', message: event.message, status: event.status })
    })
  }, [session, key, shape, enabled])
  return state
}
