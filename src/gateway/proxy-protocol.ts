/**
 * Reads the header of the PROXY protocol, version 2, in which a trusted proxy sends the address of the client
 * (haproxy.org/download/1.8/doc/proxy-protocol.txt). Connections from other addresses have no header and are passed on unchanged.
 */
import type { Socket } from 'node:net'
import { SocketAddress } from 'node:net'
import { type IsProxy, plainAddress } from '../kernel/client-address.ts'

const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
const headLength = 16
/**
 * Maximum length of the header after its fixed part. Addresses take at most 36 bytes. The rest is for protocol extensions, which are
 * ignored.
 */
const restMax = 4096
const headerMs = 5000
/** Maximum number of connections whose header is not read yet. Only trusted proxies can open such connections. */
const pendingMax = 1000

export type HeaderProblem =
  | 'the header is malformed'
  | 'the header arrives too slowly'
  | 'too many headers at the same time'

export interface ProxyProtocol {
  /** Calls `ready` with the address of the client, or closes the connection. */
  accept(socket: Socket, ready: (address: string) => void): void
  /** Returns whether the connection must begin with a header. */
  isExpected(socket: Socket): boolean
  /** Closes connections whose header is not read yet. */
  close(): void
}

export function createProxyProtocol(options: {
  isOn: boolean
  isProxy: IsProxy
  refused(address: string, problem: HeaderProblem): void
}): ProxyProtocol {
  const { isOn, isProxy, refused } = options
  const pending = new Set<Socket>()
  const isExpected = (socket: Socket) => isOn && isProxy(plainAddress(socket.remoteAddress), 0)

  function readHeader(socket: Socket, ready: (address: string) => void) {
    const proxy = plainAddress(socket.remoteAddress)
    let timer: NodeJS.Timeout | undefined
    const refuse = (problem: HeaderProblem) => {
      end()
      refused(proxy, problem)
      socket.destroy()
    }
    if (pending.size >= pendingMax) return refuse('too many headers at the same time')
    let head: Buffer | undefined
    timer = setTimeout(refuse, headerMs, 'the header arrives too slowly')
    pending.add(socket)

    function end() {
      clearTimeout(timer)
      pending.delete(socket)
      socket.off('readable', onReadable)
      socket.off('close', end)
      socket.off('end', end)
    }
    function onReadable() {
      head ??= takeBytes(socket, headLength)
      if (head === undefined) return
      const length = head.readUInt16BE(14)
      if (!isHead(head) || length > restMax) return refuse('the header is malformed')
      const rest = length === 0 ? Buffer.alloc(0) : takeBytes(socket, length)
      if (rest === undefined) return
      const address = addressIn(head, rest)
      if (address === undefined) return refuse('the header is malformed')
      end()
      ready(address === 'own' ? proxy : address)
    }
    socket.on('close', end)
    socket.on('end', end)
    socket.on('readable', onReadable)
  }

  return {
    isExpected,
    accept(socket, ready) {
      if (isExpected(socket)) readHeader(socket, ready)
      else ready(plainAddress(socket.remoteAddress))
    },
    close() {
      for (const socket of [...pending]) socket.destroy()
    },
  }
}

/** Reads exactly `length` bytes and leaves later bytes in the socket. Returns undefined if fewer bytes have arrived. */
const takeBytes = (socket: Socket, length: number): Buffer | undefined =>
  socket.readableLength < length ? undefined : ((socket.read(length) as Buffer | null) ?? undefined)

const isHead = (head: Buffer) => head.subarray(0, 12).equals(signature) && head[12]! >> 4 === 2

/**
 * Returns the address of the client. Returns `own` for connections of the proxy itself, such as health checks, and undefined if the header
 * is malformed.
 */
function addressIn(head: Buffer, rest: Buffer): string | 'own' | undefined {
  const command = head[12]! & 15
  if (command === 0) return 'own'
  if (command !== 1) return undefined
  switch (head[13]) {
    case 0x00:
      return 'own'
    case 0x11:
      return rest.length < 12 ? undefined : rest.subarray(0, 4).join('.')
    case 0x21:
      return rest.length < 36 ? undefined : addressOf6(rest.subarray(0, 16))
    default:
      return undefined
  }
}

function addressOf6(bytes: Buffer): string {
  const groups = bytes.toString('hex').match(/.{4}/g)!.join(':')
  return plainAddress(new SocketAddress({ address: groups, family: 'ipv6' }).address)
}
