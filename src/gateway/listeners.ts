/** Listeners for MQTT over TCP and TLS. */
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type SecureContextOptions, type TLSSocket, type TlsOptions } from 'node:tls'
import { plainAddress } from '../kernel/client-address.ts'
import type { FileDescriptors } from '../kernel/file-descriptors.ts'
import { explainListenError, hostInUrl } from '../kernel/listen-errors.ts'
import type { Log } from '../kernel/log.ts'
import type { ServerCertificate } from '../kernel/server-certificate.ts'
import type { ConnectionLimits, Slot } from './connection-limits.ts'
import type { ConnectionState } from './connection-state.ts'
import { certificateNotIssued } from './log-messages.ts'
import type { Origin, Sessions } from './mqtt/host.ts'
import { readIntoSharedBuffer } from './mqtt/sessions.ts'
import type { ProxyProtocol } from './proxy-protocol.ts'

export interface MqttListener {
  url: string
  /** Stops accepting connections. */
  close(): Promise<void>
  /** Destroys the sockets whose TLS handshake is not complete. Called after the sessions are closed. */
  destroySockets?(): void
}

export interface ListenerDeps {
  host: string
  sessions: Sessions<ConnectionState>
  limits: ConnectionLimits
  descriptors: Pick<FileDescriptors, 'acceptFailed'>
  log: Log
  proxies: ProxyProtocol
  recordRefusal(transport: 'mqtt' | 'mqtts', address: string, reason: string, detail?: string): void
}

const handshakeMs = 10_000
/** Devices may resume a TLS session for this long. */
const resumeSeconds = 24 * 3600

async function openListener(
  deps: ListenerDeps,
  server: Server,
  options: { setting: string; scheme: string; port: number },
): Promise<MqttListener> {
  const { host } = deps
  await explainListenError(options.setting, options.port, () => {
    return new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      // The backlog is long, because a whole fleet may reconnect at the same time.
      server.listen({ host, port: options.port, backlog: 4096 }, () => {
        server.off('error', reject)
        resolve()
      })
    })
  })
  server.on('error', (error) => deps.descriptors.acceptFailed(options.scheme, error))
  const { port } = server.address() as { port: number }
  return {
    url: `${options.scheme}://${hostInUrl(host)}:${port}`,
    // This call only stops listening. The MQTT layer closes the connections.
    async close() {
      server.close()
    },
  }
}

export function openMqtt(deps: ListenerDeps, port: number): Promise<MqttListener> {
  const { limits, sessions, proxies } = deps
  const releaseSlot = (slot: Origin) => limits.releaseSlot(slot as Slot)
  const accept = (socket: Socket, address: string) => {
    const slot = limits.acquireSlot('mqtt', address, socket)
    if (!slot) return void socket.destroy()
    slot.onClosed = releaseSlot
    slot.accepted = sessions.accept(socket, slot)
  }
  const server = createServer({ noDelay: true }, (accepted) => {
    if (!proxies.isExpected(accepted)) {
      const socket = readIntoSharedBuffer(accepted)
      return accept(socket, plainAddress(socket.remoteAddress))
    }
    accepted.on('error', () => accepted.destroy())
    proxies.accept(accepted, (address) => {
      accept(accepted, address)
      accepted.resume()
    })
  })
  return openListener(deps, server, { setting: 'MQTT_PORT', scheme: 'mqtt', port })
}

/**
 * Opens MQTT over TLS. The certificate is issued at the first connection instead of the start, because loading the code for it takes half a
 * second. The server `tls` only does handshakes; it does not listen on a port.
 */
export async function openMqtts(
  deps: ListenerDeps,
  port: number,
  certificate: ServerCertificate,
): Promise<MqttListener> {
  const options: TlsOptions = {
    minVersion: 'TLSv1.2',
    // Any client certificate passes the handshake. The credentials service verifies it at CONNECT, because a handshake cannot detect
    // suspended certificates.
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: handshakeMs,
    sessionTimeout: resumeSeconds,
  }
  const tls = createTlsServer(options)
  const use = (context: SecureContextOptions) => tls.setSecureContext({ ...options, ...context })
  const ready = createReady(certificate, use)
  // The operator's certificate files are read now, so that an invalid file stops the start.
  if (certificate.fromFiles) await ready.prepare()
  // All open TCP sockets. The MQTT layer closes only the sockets that have completed the handshake; the others would keep the process
  // running.
  const rawSockets = new Set<Socket>()
  let closing = false
  /** The client addresses that a proxy has named in its header. */
  const proxied = new WeakMap<Socket, string>()
  const server = createServer({ noDelay: true }, (socket) => {
    if (!deps.proxies.isExpected(socket)) return startHandshake(socket)
    socket.on('error', () => socket.destroy())
    deps.proxies.accept(socket, (address) => {
      proxied.set(socket, address)
      startHandshake(socket)
    })
  })
  function startHandshake(socket: Socket) {
    if (ready.isReady()) return void tls.emit('connection', socket)
    rawSockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => rawSockets.delete(socket))
    ready.prepare().then(
      () => !socket.destroyed && !closing && tls.emit('connection', socket),
      (error) => {
        if (!closing) certificateNotIssued(deps.log, { err: error })
        socket.destroy()
      },
    )
  }
  const slots = new Map<string, Slot>()
  const socketKey = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`
  tls.on('connection', (socket: Socket) => {
    const slot = deps.limits.acquireSlot('mqtts', proxied.get(socket) ?? plainAddress(socket.remoteAddress), socket)
    if (!slot) return void socket.destroy()
    const name = socketKey(socket)
    slots.set(name, slot)
    rawSockets.add(socket)
    socket.once('close', () => {
      rawSockets.delete(socket)
      slots.delete(name)
      deps.limits.releaseSlot(slot)
    })
  })
  tls.on('secureConnection', (socket: TLSSocket) => {
    const slot = slots.get(socketKey(socket))
    // The raw socket has closed during the handshake.
    if (!slot) return void socket.destroy()
    const peerCertificate = socket.getPeerX509Certificate()
    if (peerCertificate) slot.certificate = peerCertificate
    slot.accepted = deps.sessions.accept(socket, slot)
  })
  tls.on('tlsClientError', (error, socket) => {
    // Clients that only check whether the port is open reset the connection; they are not recorded.
    if (!closing && (error as NodeJS.ErrnoException).code !== 'ECONNRESET')
      deps.recordRefusal(
        'mqtts',
        slots.get(socketKey(socket))?.address ?? plainAddress(socket.remoteAddress),
        'tls_handshake_failed',
        error.message.slice(0, 200),
      )
  })
  const stopRenewing = certificate.onRenewal(use)
  const listener = await openListener(deps, server, { setting: 'MQTTS_PORT', scheme: 'mqtts', port })
  return {
    ...listener,
    async close() {
      closing = true
      stopRenewing()
      await listener.close()
    },
    destroySockets() {
      for (const socket of rawSockets) socket.destroy()
    },
  }
}

/** Sets the first certificate once. After a failure, the next connection tries again. */
function createReady(certificate: ServerCertificate, use: (context: SecureContextOptions) => void) {
  let done = false
  let preparing: Promise<void> | undefined
  async function prepare() {
    try {
      use(await certificate.current())
      done = true
    } finally {
      preparing = undefined
    }
  }
  return { isReady: () => done, prepare: () => (preparing ??= prepare()) }
}
