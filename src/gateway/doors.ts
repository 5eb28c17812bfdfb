/** MQTT on sockets of its own: plain, and over TLS. */
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type SecureContextOptions, type TLSSocket } from 'node:tls'
import { plainAddress } from '../kernel/client-address.ts'
import type { FileDescriptors } from '../kernel/file-descriptors.ts'
import { hostInUrl, listening } from '../kernel/listening.ts'
import type { ConnectionLimits, Slot } from './connection-limits.ts'
import type { From, Sessions } from './mqtt/host.ts'
import { readIntoOneBuffer } from './mqtt/sessions.ts'
import type { Peer } from './peers.ts'
import type { ServerCertificate } from './server-certificate.ts'

export interface Door {
  url: string
  /** Nobody comes in any more. */
  close(): Promise<void>
  /** Whoever is still there, once all have been told: those that never got through a handshake. */
  cut?(): void
}

export interface DoorDeps {
  host: string
  sessions: Sessions<Peer>
  limits: ConnectionLimits
  descriptors: Pick<FileDescriptors, 'acceptFailed'>
  /** Somebody was not let in. */
  refused(transport: 'mqtt' | 'mqtts', address: string, reason: string, detail?: string): void
}

const handshakeMs = 10_000
/** How long a device may come back without a full handshake. */
const resumeSeconds = 24 * 3600

async function open(
  deps: DoorDeps,
  server: Server,
  what: { setting: string; scheme: string; port: number },
): Promise<Door> {
  const { host } = deps
  await listening(what.setting, what.port, () => {
    return new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      // A fleet that comes back at once must not find the queue full.
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
    // Connections are the sessions' to close: this only stops listening.
    async close() {
      server.close()
    },
  }
}

export function openMqtt(deps: DoorDeps, port: number): Promise<Door> {
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

export async function openMqtts(deps: DoorDeps, port: number, certificate: ServerCertificate): Promise<Door> {
  const server = createTlsServer({
    ...(await certificate.current()),
    minVersion: 'TLSv1.2',
    // Whether a certificate is one of ours the credentials service says: a handshake cannot know of suspended ones.
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: handshakeMs,
    sessionTimeout: resumeSeconds,
    noDelay: true,
  })
  // Whoever is still shaking hands when the door closes would keep the process from ending.
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
    // Its raw socket has closed meanwhile.
    if (!slot) return void socket.destroy()
    const found = socket.getPeerX509Certificate()
    if (found) slot.certificate = found
    slot.accepted = deps.sessions.accept(socket, slot)
  })
  server.on('tlsClientError', (error, socket) => {
    // Who only looks whether the port is open says nothing worth keeping.
    if (!closing && (error as NodeJS.ErrnoException).code !== 'ECONNRESET')
      deps.refused('mqtts', plainAddress(socket.remoteAddress), 'tls_handshake_failed', error.message.slice(0, 200))
  })
  const stopRenewing = certificate.onRenewal((context: SecureContextOptions) => server.setSecureContext(context))
  const door = await open(deps, server, { setting: 'MQTTS_PORT', scheme: 'mqtts', port })
  return {
    ...door,
    async close() {
      closing = true
      stopRenewing()
      await door.close()
    },
    cut() {
      for (const socket of raw) socket.destroy()
    },
  }
}
