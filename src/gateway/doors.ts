/** MQTT on sockets of its own: plain, and over TLS. */
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type SecureContextOptions, type TLSSocket } from 'node:tls'
import { hostInUrl, listening } from '../kernel/listening.ts'
import type { Log } from '../kernel/log.ts'
import type { Strangers } from './limits.ts'
import type { From, Sessions } from './mqtt/host.ts'
import { readIntoOneBuffer } from './mqtt/sessions.ts'
import { plainAddress } from './peers.ts'
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
  sessions: Sessions
  strangers: Strangers
  /** Somebody was not let in. */
  refused(transport: 'mqtt' | 'mqtts', address: string, reason: string, detail?: string): void
  log: Log
}

const handshakeMs = 10_000
/** How long a device may come back without a full handshake. */
const resumeSeconds = 24 * 3600

async function open(
  deps: DoorDeps,
  server: Server,
  what: { setting: string; scheme: string; port: number },
): Promise<Door> {
  const { host, log } = deps
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
  server.on('error', (error) => log.error({ err: error }, `the door ${what.scheme} has a problem`))
  const { port } = server.address() as { port: number }
  return {
    url: `${what.scheme}://${hostInUrl(host)}:${port}`,
    // Connections are the sessions' to close: this only stops listening.
    async close() {
      server.close()
    },
  }
}

/** Undefined: too many from there are strangers, and this one is gone. Whoever is let in has to `leave` again. */
function letIn(deps: DoorDeps, socket: Socket, transport: 'mqtt' | 'mqtts'): string | undefined {
  const address = plainAddress(socket.remoteAddress)
  if (!deps.strangers.arrive(address)) {
    deps.refused(transport, address, 'too_many_strangers')
    socket.destroy()
    return undefined
  }
  return address
}

export function openMqtt(deps: DoorDeps, port: number): Promise<Door> {
  const left = ({ address }: From) => deps.strangers.leave(address)
  const server = createServer({ noDelay: true }, (accepted) => {
    const socket = readIntoOneBuffer(accepted)
    const address = letIn(deps, socket, 'mqtt')
    if (address !== undefined) deps.sessions.accept(socket, { transport: 'mqtt', address, left })
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
  server.on('connection', (socket) => {
    const address = letIn(deps, socket, 'mqtts')
    if (address === undefined) return
    raw.add(socket)
    socket.once('close', () => {
      raw.delete(socket)
      deps.strangers.leave(address)
    })
  })
  server.on('secureConnection', (socket: TLSSocket) => {
    const found = socket.getPeerX509Certificate()
    deps.sessions.accept(socket, {
      transport: 'mqtts',
      address: plainAddress(socket.remoteAddress),
      ...(found && { certificate: found }),
    })
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
