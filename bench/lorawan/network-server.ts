/** Simulates the MQTT broker of a LoRaWAN network, and measures the time from an uplink to its acknowledgement. */
import { createServer, type Socket } from 'node:net'
import mqtt from 'mqtt-packet'

interface Session {
  socket: Socket
  username: string
  nextId: number
  /** The time at which each message was sent, by packet id. */
  sent: Map<number, number>
}

export interface NetworkServer {
  port: number
  /** Number of sessions that have subscribed. */
  ready(): number
  /** Sends an uplink with QoS 1. Returns false if the user has no session. */
  send(username: string, netDeviceId: string, message: object): boolean
  /** Returns the milliseconds from each uplink to its acknowledgement, for the acknowledgements since the last call. */
  takeLatencies(): number[]
  pending(): number
  close(): void
}

export async function startNetworkServer(): Promise<NetworkServer> {
  const sessions = new Map<string, Session>()
  let latencies: number[] = []
  const server = createServer((socket) => {
    const parser = mqtt.parser({ protocolVersion: 4 })
    const session: Session = { socket, username: '', nextId: 0, sent: new Map() }
    const write = (packet: mqtt.Packet) => socket.write(mqtt.generate(packet))
    socket.setNoDelay(true)
    socket.on('data', (chunk) => parser.parse(chunk))
    socket.on('error', () => {})
    socket.on('close', () => sessions.get(session.username) === session && sessions.delete(session.username))
    parser.on('packet', (packet) => {
      if (packet.cmd === 'connect') {
        session.username = packet.username ?? ''
        write({ cmd: 'connack', returnCode: 0, sessionPresent: false })
      } else if (packet.cmd === 'subscribe') {
        sessions.set(session.username, session)
        write({ cmd: 'suback', messageId: packet.messageId!, granted: packet.subscriptions.map(() => 1) })
      } else if (packet.cmd === 'pingreq') write({ cmd: 'pingresp' })
      else if (packet.cmd === 'puback') {
        const sentAt = session.sent.get(packet.messageId!)
        if (sentAt === undefined) return
        session.sent.delete(packet.messageId!)
        latencies.push(performance.now() - sentAt)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    ready: () => sessions.size,
    send(username, netDeviceId, message) {
      const session = sessions.get(username)
      if (!session) return false
      session.nextId = (session.nextId % 65_535) + 1
      const payload = JSON.stringify(message)
      const topic = `v3/${username}/devices/${netDeviceId}/up`
      session.sent.set(session.nextId, performance.now())
      session.socket.write(
        mqtt.generate({ cmd: 'publish', topic, payload, qos: 1, messageId: session.nextId, dup: false, retain: false }),
      )
      return true
    },
    takeLatencies() {
      const taken = latencies
      latencies = []
      return taken
    },
    pending: () => [...sessions.values()].reduce((sum, { sent }) => sum + sent.size, 0),
    close() {
      for (const { socket } of sessions.values()) socket.destroy()
      server.close()
    },
  }
}
