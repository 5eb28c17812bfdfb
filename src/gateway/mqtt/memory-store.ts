/** Stores sessions in memory, for test suites of brokers and tests without a database. */
import type { Clock } from '../../kernel/clock.ts'
import { messageBytes, type QueueLimits, type SessionState, type SessionStore, subscribedQos } from './session-store.ts'

interface StoredSession extends SessionState {
  expiresAt: number
}

export function createMemoryStore(limits: QueueLimits, now: Clock): SessionStore {
  const sessions = new Map<string, StoredSession>()
  let lastStoreId = 0
  let lastClaim = 0

  const expiry = (seconds: number) => now().getTime() + seconds * 1000
  const find = (key: string) => {
    const stored = sessions.get(key)
    if (stored && stored.expiresAt <= now().getTime()) sessions.delete(key)
    return sessions.get(key)
  }

  return {
    async claim() {
      return ++lastClaim
    },
    async load(key) {
      const stored = find(key)
      return stored && copyOf(stored)
    },
    async save(key, _claim, { expirySeconds, subscriptions }) {
      const { received = [], messages = [] } = find(key) ?? {}
      sessions.set(key, { expirySeconds, subscriptions, received, messages, expiresAt: Infinity })
    },
    async leave(key, _claim, state) {
      const messages = state.messages.map((queued) => ({ ...queued, storeId: queued.storeId ?? String(++lastStoreId) }))
      sessions.set(key, { ...state, messages, expiresAt: expiry(state.expirySeconds) })
    },
    async discard(key) {
      sessions.delete(key)
    },
    removeHolder() {},
    release() {},
    async restoreHolders() {},
    async enqueue(key, message) {
      const stored = find(key)
      const qos = stored ? subscribedQos(stored.subscriptions, message) : 0
      if (!stored || qos === 0) return 'gone'
      const bytes = stored.messages.reduce((sum, queued) => sum + messageBytes(queued.message), messageBytes(message))
      if (stored.messages.length >= limits.queuedMessagesMax || bytes > limits.queuedBytesMax) return 'full'
      const copy = { ...message, payload: Buffer.from(message.payload), qos }
      stored.messages.push({
        storeId: String(++lastStoreId),
        message: copy,
        packetId: 0,
        released: false,
        queuedAt: now().getTime(),
      })
      return 'queued'
    },
    deleteMessage(key, storeId) {
      const stored = sessions.get(key)
      if (stored) stored.messages = stored.messages.filter((queued) => queued.storeId !== storeId)
    },
    async touch() {
      return []
    },
    async close() {},
  }
}

const copyOf = ({ expirySeconds, subscriptions, received, messages }: StoredSession): SessionState => ({
  expirySeconds,
  subscriptions: [...subscriptions],
  received: [...received],
  messages: messages.map((queued) => ({ ...queued })),
})
