/** Listeners for MQTT over TCP and TLS. */
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type SecureContextOptions, type TLSSocket } from 'node:tls'
import { plainAddress } from '../kernel/client-address.ts'
import type { FileDescriptors } from '../kernel/file-descriptors.ts'
import { explainListenError, hostInUrl } from '../kernel/listen-errors.ts'
import type { ConnectionLimits, Slot } from './connection-limits.ts'
import type { ConnectionState } from './connection-state.ts'
import type { From, Sessions } from './mqtt/host.ts'
import { readIntoOneBuffer } from './mqtt/sessions.ts'
import type { ServerCertificate } from './server-certificate.ts'

export interface MqttListener {
  url: string
  /** Stops accepting connections. */
  close(): Promise<void>
  /** Destroys sockets whose TLS handshake is not done; called after the sessions are closed. */
  destroySockets?(): void
}

export interface ListenerDeps {
  host: string
  sessions: Sessions<ConnectionState>
  limits: ConnectionLimits
  descriptors: Pick<FileDescriptors, 'acceptFailed'>
  refused(transport: 'mqtt' | 'mqtts', address: string, reason: string, detail?: string): void
}

const handshakeMs = 10_000
/** Devices may resume a TLS session for this long. */
const resumeSeconds = 24 * 3600

async function open(
  deps: ListenerDeps,
  server: Server,
  what: { setting: string; scheme: string; port: number },
): Promise<MqttListener> {
  const { host } = deps
  await explainListenError(what.setting, what.port, () => {
    return new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      // A long backlog, for fleets that reconnect at once.
      server.listen({ host, port: what.port, backlog: 4096 }, () => {
        server.off('error', reject)
        resolve()
      })
    })
  })
  server.on('error', (error) => deps.descriptors.acceptFailed(what.scheme, error))
  const { port } = server.address() as { port: number }
  return {
    url: `${what.scheme}://${hostInUrl(host)}:${port}`,
    // Only stops listening: the MQTT layer closes the connections.
    async close() {
      server.close()
    },
  }
}

export function openMqtt(deps: ListenerDeps, port: number): Promise<MqttListener> {
  const { limits, sessions } = deps
  const left = (slot: From) => limits.leave(slot as Slot)
  const server = createServer({ noDelay: true }, (accepted) => {
    const socket = readIntoOneBuffer(accepted)
    const slot = limits.arrive('mqtt', plainAddress(socket.remoteAddress), socket)
    if (!slot) return void socket.destroy()
    slot.left = left
    slot.accepted = sessions.accept(socket, slot)
  })
  return open(deps, server, { setting: 'MQTT_PORT', scheme: 'mqtt', port })
}

export async function openMqtts(
  deps: ListenerDeps,
  port: number,
  certificate: ServerCertificate,
): Promise<MqttListener> {
  const server = createTlsServer({
    ...(await certificate.current()),
    minVersion: 'TLSv1.2',
    // The credentials service verifies certificates at CONNECT: a handshake cannot know which are suspended.
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: handshakeMs,
    sessionTimeout: resumeSeconds,
    noDelay: true,
  })
  // Sockets in the handshake would keep the process from exiting.
  const raw = new Set<Socket>()
  let closing = false
  const slots = new Map<string, Slot>()
  const nameOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`
  server.on('connection', (socket) => {
    const slot = deps.limits.arrive('mqtts', plainAddress(socket.remoteAddress), socket)
    if (!slot) return void socket.destroy()
    const name = nameOf(socket)
    slots.set(name, slot)
    raw.add(socket)
    socket.once('close', () => {
      raw.delete(socket)
      slots.delete(name)
      deps.limits.leave(slot)
    })
  })
  server.on('secureConnection', (socket: TLSSocket) => {
    const slot = slots.get(nameOf(socket))
    // The raw socket has closed during the handshake.
    if (!slot) return void socket.destroy()
    const found = socket.getPeerX509Certificate()
    if (found) slot.certificate = found
    slot.accepted = deps.sessions.accept(socket, slot)
  })
  server.on('tlsClientError', (error, socket) => {
    // Port checks reset the connection; they are not recorded.
    if (!closing && (error as NodeJS.ErrnoException).code !== 'ECONNRESET')
      deps.refused('mqtts', plainAddress(socket.remoteAddress), 'tls_handshake_failed', error.message.slice(0, 200))
  })
  const stopRenewing = certificate.onRenewal((context: SecureContextOptions) => server.setSecureContext(context))
  const listener = await open(deps, server, { setting: 'MQTTS_PORT', scheme: 'mqtts', port })
  return {
    ...listener,
    async close() {
      closing = true
      stopRenewing()
      await listener.close()
    },
    destroySockets() {
      for (const socket of raw) socket.destroy()
    },
  }
}
