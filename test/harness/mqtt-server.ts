/** Runs the MQTT session layer on a free port, with a host whose functions a test can replace. */
import { createServer, type Socket } from 'node:net'
import { pino } from 'pino'
import type { Client, Connection, Host, Message } from '../../src/gateway/mqtt/host.ts'
import { defaultLimits, type Limits } from '../../src/gateway/mqtt/limits.ts'
import { createMemoryStore } from '../../src/gateway/mqtt/memory-store.ts'
import type { SessionStore } from '../../src/gateway/mqtt/session-store.ts'
import { createSessions, readIntoSharedBuffer } from '../../src/gateway/mqtt/sessions.ts'
import type { Offers } from '../../src/gateway/mqtt/state.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { afterAllTests } from './database.ts'

export interface MqttServer {
  port: number
  sessions: ReturnType<typeof createSessions>
  /** Open connections by client id. */
  connections: Map<string, Connection>
  published: (Message & { from: string })[]
  refused: { reason: string; detail: string | undefined; client: Partial<Client> }[]
  disconnected: { clientId: string; graceful: boolean; why: string }[]
  present: Map<string, { present: boolean; subscriptions: string[] }>
  sockets: Socket[]
  close(): Promise<void>
}

export interface MqttServerOptions {
  host?: Partial<Host>
  limits?: Partial<Limits>
  offers?: Partial<Offers>
  store?: SessionStore
}

export async function openMqttServer({
  host = {},
  limits = {},
  offers = {},
  store,
}: MqttServerOptions = {}): Promise<MqttServer> {
  const recorded: Omit<MqttServer, 'port' | 'sessions' | 'close'> = {
    connections: new Map(),
    published: [],
    refused: [],
    disconnected: [],
    present: new Map(),
    sockets: [],
  }
  const fullHost: Host = {
    connect: async () => ({ accepted: true, owner: 'owner' }),
    connected(connection, { present, subscriptions }) {
      const { clientId } = connection.client
      recorded.connections.set(clientId, connection)
      recorded.present.set(clientId, { present, subscriptions: subscriptions.map(({ filter }) => filter) })
    },
    publish(connection, message) {
      recorded.published.push({ ...message, from: connection.client.clientId })
      return undefined
    },
    subscribe: (_, subscriptions) => subscriptions.map(({ qos }) => qos),
    unsubscribe() {},
    disconnected({ client }, how) {
      recorded.disconnected.push({ clientId: client.clientId, ...how })
    },
    refused(client, reason, detail) {
      recorded.refused.push({ reason, detail, client })
    },
    ...host,
  }
  const allLimits = { ...defaultLimits, lingerSeconds: 1, ...limits }
  const sessions = createSessions(fullHost, {
    store: store ?? createMemoryStore(allLimits, systemClock),
    log: pino({ level: 'silent' }),
    limits: allLimits,
    offers,
  })
  const server = createServer((accepted) => {
    const socket = readIntoSharedBuffer(accepted)
    recorded.sockets.push(socket)
    sessions.accept(socket, { transport: 'mqtt', address: '127.0.0.1' })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= Promise.all([sessions.close(), new Promise((resolve) => server.close(resolve))]).then(() => {})
    return closing
  }
  afterAllTests(async () => {
    // The test destroys the sockets, because `close` would wait five seconds for clients that do not disconnect.
    for (const socket of recorded.sockets) socket.destroy()
    await close()
  })
  return { ...recorded, sessions, port: (server.address() as { port: number }).port, close }
}
