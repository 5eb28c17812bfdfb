/** Stores sessions in memory, for test suites of brokers and tests without a database. */
import type { Clock } from '../../kernel/clock.ts'
import { messageBytes, type QueueLimits, type SessionState, type SessionStore, subscribedQos } from './session-store.ts'

interface Kept extends SessionState {
  expiresAt: number
}

export function createMemoryStore(limits: QueueLimits, now: Clock): SessionStore {
  const sessions = new Map<string, Kept>()
  let names = 0
  let claims = 0

  const expiry = (seconds: number) => now().getTime() + seconds * 1000
  const find = (key: string) => {
    const kept = sessions.get(key)
    if (kept && kept.expiresAt <= now().getTime()) sessions.delete(key)
    return sessions.get(key)
  }

  return {
    async claim() {
      return ++claims
    },
    async load(key) {
      const kept = find(key)
      return kept && structured(kept)
    },
    async save(key, _claim, { expirySeconds, subscriptions }) {
      const { received = [], messages = [] } = find(key) ?? {}
      sessions.set(key, { expirySeconds, subscriptions, received, messages, expiresAt: Infinity })
    },
    async leave(key, _claim, state) {
      const messages = state.messages.map((queued) => ({ ...queued, stored: queued.stored ?? String(++names) }))
      sessions.set(key, { ...state, messages, expiresAt: expiry(state.expirySeconds) })
    },
    async discard(key) {
      sessions.delete(key)
    },
    vacate() {},
    release() {},
    async hold() {},
    async enqueue(key, message) {
      const kept = find(key)
      const qos = kept ? subscribedQos(kept.subscriptions, message) : 0
      if (!kept || qos === 0) return 'gone'
      const bytes = kept.messages.reduce((sum, queued) => sum + messageBytes(queued.message), messageBytes(message))
      if (kept.messages.length >= limits.queuedMessagesMax || bytes > limits.queuedBytesMax) return 'full'
      const own = { ...message, payload: Buffer.from(message.payload), qos }
      kept.messages.push({ stored: String(++names), message: own, packetId: 0, released: false, at: now().getTime() })
      return 'queued'
    },
    forget(key, stored) {
      const kept = sessions.get(key)
      if (kept) kept.messages = kept.messages.filter((queued) => queued.stored !== stored)
    },
    async touch() {
      return []
    },
    async close() {},
  }
}

const structured = ({ expirySeconds, subscriptions, received, messages }: Kept): SessionState => ({
  expirySeconds,
  subscriptions: [...subscriptions],
  received: [...received],
  messages: messages.map((queued) => ({ ...queued })),
})
