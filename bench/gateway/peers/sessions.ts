/** MQTT server for comparison: the session layer of the platform alone. Its `host` answers each message and does nothing else. */
import type { Host } from '../../../src/gateway/mqtt/host.ts'
import { defaultLimits } from '../../../src/gateway/mqtt/limits.ts'
import { createMemoryStore } from '../../../src/gateway/mqtt/memory-store.ts'
import { createSessions, readIntoSharedBuffer } from '../../../src/gateway/mqtt/sessions.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { createLog } from '../../../src/kernel/log.ts'
import { serve } from './serve.ts'

const emptyPayload = Buffer.alloc(0)
const host: Host = {
  connect: async () => ({ accepted: true, owner: 'bench' }),
  connected() {},
  publish(connection, { topic, qos }) {
    connection.send({ topic: `${topic}/status`, payload: emptyPayload, qos })
    return undefined
  },
  subscribe: (_, subscriptions) => subscriptions.map(({ qos }) => qos),
  unsubscribe() {},
  disconnected() {},
  refused: (_, reason) => console.error(`refused: ${reason}`),
}
const log = await createLog({ level: 'error', format: 'json' })
const sessions = createSessions(host, { store: createMemoryStore(defaultLimits, systemClock), log })
serve((socket) => sessions.accept(readIntoSharedBuffer(socket), { transport: 'mqtt', address: '127.0.0.1' }))
