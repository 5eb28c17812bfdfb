/** MQTT client that sends any packets or bytes. It uses the codec of mqtt-packet, not the codec of the platform. */
import { connect as connectSocket, type Socket } from 'node:net'
import { generate, type IConnectPacket, type Packet, parser } from 'mqtt-packet'

export interface RawClient {
  socket: Socket
  /** All packets received, in order. */
  received: Packet[]
  send(...packets: (Packet | Buffer | string)[]): void
  /** Waits for the next packet and asserts its type. */
  next<C extends Packet['cmd']>(cmd?: C): Promise<Extract<Packet, { cmd: C }>>
  /** Waits until the server has closed the connection; returns the packets that `next` has not returned. */
  closed(): Promise<Packet[]>
  /** Destroys the socket without DISCONNECT. */
  destroy(): void
}

export type ConnectOptions = Partial<Omit<IConnectPacket, 'cmd'>>

export const connectPacket = (options: ConnectOptions = {}): IConnectPacket => {
  const protocolVersion = options.protocolVersion ?? 4
  return {
    cmd: 'connect',
    protocolId: protocolVersion === 3 ? 'MQIsdp' : 'MQTT',
    clientId: 'client',
    clean: true,
    keepalive: 60,
    ...options,
    protocolVersion,
  }
}

/** Opens a connection without sending CONNECT. */
export async function rawClient(port: number, protocolVersion = 4, withinMs = 5000): Promise<RawClient> {
  const socket = connectSocket({ port, host: '127.0.0.1', noDelay: true })
  const decoder = parser({ protocolVersion } as never)
  const received: Packet[] = []
  let returnedCount = 0
  let isClosed = false
  let wake = () => {}
  decoder.on('packet', (packet) => {
    received.push(packet)
    wake()
  })
  decoder.on('error', (error) => socket.destroy(error))
  socket.on('data', (chunk) => decoder.parse(chunk))
  socket.on('error', () => {})
  // After `end` the connection counts as closed, even if the client has not closed its side yet.
  for (const event of ['end', 'close'])
    socket.on(event, () => {
      isClosed = true
      wake()
    })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))

  async function waitUntil(holds: () => boolean, description: string) {
    const deadline = Date.now() + withinMs
    while (!holds()) {
      if (Date.now() > deadline) throw new Error(`${description} did not happen within ${withinMs} ms`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, withinMs)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  return {
    socket,
    received,
    send(...packets) {
      const bytes = packets.map((packet) => {
        if (Buffer.isBuffer(packet)) return packet
        if (typeof packet === 'string') return Buffer.from(packet.replace(/\s/g, ''), 'hex')
        return generate(packet, { protocolVersion } as never)
      })
      socket.write(Buffer.concat(bytes))
    },
    async next(cmd) {
      await waitUntil(() => received.length > returnedCount || isClosed, cmd ?? 'a packet')
      const packet = received[returnedCount++]
      if (!packet) throw new Error(`the connection was closed before ${cmd ?? 'a packet'} arrived`)
      if (cmd && packet.cmd !== cmd)
        throw new Error(`${packet.cmd} arrived instead of ${cmd}: ${JSON.stringify(packet)}`)
      return packet as never
    },
    async closed() {
      await waitUntil(() => isClosed, 'the end of the connection')
      return received.slice(returnedCount)
    },
    destroy: () => socket.destroy(),
  }
}

/** Opens a connection, sends CONNECT and waits for CONNACK. */
export async function connected(port: number, options: ConnectOptions = {}, withinMs?: number) {
  const client = await rawClient(port, options.protocolVersion ?? 4, withinMs)
  client.send(connectPacket(options))
  const connack = await client.next('connack')
  return { ...client, connack }
}
