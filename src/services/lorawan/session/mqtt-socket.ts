/** Opens the TCP or TLS connection to the MQTT broker of a LoRaWAN network. */
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { RefusedAddress, resolveAddress } from '../../../kernel/safe-fetch.ts'
import type { MqttAddress } from '../hosts.ts'

export interface SocketOptions {
  address: MqttAddress
  allowPrivate: boolean
}

/** Receives the bytes that a socket reads. */
export interface Reader {
  read(chunk: Buffer): void
}

/** An error of a connection. The message is shown to users and never contains the API key. */
export class ConnectionProblem extends Error {
  override readonly name = 'ConnectionProblem'
}

/** Maximum number of milliseconds until the broker answers. */
export const answerMs = 10_000

/** All TCP sockets read into this buffer. If each had a buffer of its own, idle connections would need more memory. */
const sharedBuffer = Buffer.alloc(65_536)

/** Opens a TCP or TLS connection whose bytes `reader` receives. Rejects with ConnectionProblem. */
export async function openSocket(options: SocketOptions, reader: Reader): Promise<Socket> {
  const { host, port } = options.address
  const attempt: Attempt = { socket: undefined, isOver: false }
  try {
    return await inTime(openAttempt(options, reader, attempt))
  } catch (error) {
    attempt.isOver = true
    attempt.socket?.on('error', () => {})
    attempt.socket?.destroy()
    throw new ConnectionProblem(socketProblem(`${host}:${port}`, host, error))
  }
}

/** A connection that is being opened. */
interface Attempt {
  socket: Socket | undefined
  isOver: boolean
}

async function openAttempt(
  { address, allowPrivate }: SocketOptions,
  reader: Reader,
  attempt: Attempt,
): Promise<Socket> {
  const { host, port, isTls } = address
  const url = new URL(`https://${isIP(host) === 6 ? `[${host}]` : host}`)
  const target = await resolveAddress(url, { allowPrivate })
  if (attempt.isOver) throw new Error('the attempt took too long')
  const to = { host: target.address, port }
  // The socket connects to the IP address that `resolveAddress` has allowed. TLS checks the certificate against the host name.
  const socket = isTls
    ? connectTls({ ...to, ...(isIP(host) === 0 && { servername: host }) })
    : connectTcp({ ...to, onread: { buffer: sharedBuffer, callback: (length) => readShared(reader, length) } })
  attempt.socket = socket
  if (isTls) socket.on('data', (chunk) => reader.read(chunk))
  await opened(socket, isTls ? 'secureConnect' : 'connect')
  socket.setNoDelay(true)
  return socket
}

/** Rejects if the work takes too long. The timer is cleared when the work ends, because a pending timer keeps the memory of the attempt. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TooLate()), answerMs).unref()
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

class TooLate extends Error {}

function readShared(reader: Reader, length: number): boolean {
  reader.read(Buffer.from(sharedBuffer.subarray(0, length)))
  return true
}

const opened = (socket: Socket, event: 'connect' | 'secureConnect') =>
  new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('closed')))
    socket.once(event, () => {
      socket.removeAllListeners('close').removeListener('error', reject)
      resolve()
    })
  })

/** Returns the reason of an error as text. It never contains the API key. */
export function socketProblem(at: string, host: string, error: unknown): string {
  if (error instanceof RefusedAddress) return error.message
  if (error instanceof TooLate) return `${at} did not answer within ${answerMs / 1000} s`
  const { code = '', message } = error as NodeJS.ErrnoException
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `the name ${host} cannot be resolved (${code})`
  if (code === 'ECONNREFUSED') return `${at} refuses the connection`
  if (/CERT|SELF_SIGNED|ERR_TLS|UNABLE_TO|ERR_SSL|EPROTO/.test(code)) return `TLS with ${at} failed: ${message}`
  return `${at} cannot be reached${code === '' ? '' : ` (${code})`}`
}
