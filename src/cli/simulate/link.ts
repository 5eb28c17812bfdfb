/** An MQTT 3.1.1 connection of a simulated device: publishes with QoS 1 and receives messages. */
import net from 'node:net'
import tls from 'node:tls'
import mqtt from 'mqtt-packet'

export interface LinkOptions {
  /** `mqtt://` or `mqtts://`, with user name and password if the tenant requires them. */
  url: URL
  clientId: string
  onMessage(topic: string, payload: Buffer): void
  onClose(why: string): void
}

export interface Link {
  /** Resolves when the platform has acknowledged the message. */
  publish(topic: string, payload: string): Promise<void>
  /** Sends DISCONNECT and closes the connection. */
  disconnect(): void
  /** Closes the connection without DISCONNECT, like a device that lost its power. */
  drop(): void
  /** Returns the number of messages that are sent and not acknowledged. */
  pending(): number
}

const keepAliveSeconds = 60
const connectTimeoutMs = 20_000
const idMax = 0xffff

export function openLink({ url, clientId, onMessage, onClose }: LinkOptions): Promise<Link> {
  return new Promise((resolve, reject) => {
    const secure = url.protocol === 'mqtts:'
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const port = Number(url.port) || (secure ? 8883 : 1883)
    const socket = secure
      ? tls.connect({ host, port, ...(!net.isIP(host) && { servername: host }) })
      : net.connect({ host, port, noDelay: true })
    const waiting = new Map<number, { resolve(): void; reject(error: Error): void }>()
    let closeReason = 'the platform closed the connection'
    let open = false
    let id = 0
    const send = (packet: mqtt.Packet) => void socket.write(mqtt.generate(packet))

    const parser = mqtt.parser({ protocolVersion: 4 })
    parser.on('packet', (packet) => {
      switch (packet.cmd) {
        case 'connack':
          if (packet.returnCode !== 0) {
            fail(`the platform refused the connection (CONNACK ${packet.returnCode})`)
            return
          }
          open = true
          clearTimeout(connectTimer)
          resolve(link)
          return
        case 'publish':
          if (packet.qos === 1) send({ cmd: 'puback', messageId: packet.messageId! })
          onMessage(packet.topic, packet.payload as Buffer)
          return
        case 'puback':
          waiting.get(packet.messageId!)?.resolve()
          waiting.delete(packet.messageId!)
      }
    })
    parser.on('error', (error: Error) => fail(error.message))

    const fail = (reason: string) => {
      closeReason = reason
      socket.destroy()
    }
    const connectTimer = setTimeout(() => fail('the platform did not answer CONNECT'), connectTimeoutMs)
    const pingTimer = setInterval(() => open && send({ cmd: 'pingreq' }), (keepAliveSeconds * 1000) / 2)
    socket.on(secure ? 'secureConnect' : 'connect', () =>
      send({
        cmd: 'connect',
        clientId,
        protocolId: 'MQTT',
        protocolVersion: 4,
        clean: true,
        keepalive: keepAliveSeconds,
        ...(url.username !== '' && { username: decodeURIComponent(url.username) }),
        ...(url.password !== '' && { password: Buffer.from(decodeURIComponent(url.password)) }),
      }),
    )
    socket.on('data', (bytes: Buffer) => void parser.parse(bytes))
    socket.on('error', (error) => {
      closeReason = error.message
    })
    socket.on('close', () => {
      clearTimeout(connectTimer)
      clearInterval(pingTimer)
      for (const { reject } of waiting.values()) reject(new Error(closeReason))
      waiting.clear()
      if (open) onClose(closeReason)
      else reject(new Error(closeReason))
    })

    const nextId = () => {
      do id = (id % idMax) + 1
      while (waiting.has(id))
      return id
    }
    const link: Link = {
      publish: (topic, payload) =>
        new Promise((resolve, reject) => {
          if (socket.destroyed || waiting.size === idMax) return reject(new Error('not sent'))
          const messageId = nextId()
          waiting.set(messageId, { resolve, reject })
          send({ cmd: 'publish', topic, payload, qos: 1, messageId, dup: false, retain: false })
        }),
      disconnect() {
        closeReason = 'disconnected'
        socket.end(mqtt.generate({ cmd: 'disconnect' }))
        socket.destroySoon()
      },
      drop: () => fail('dropped'),
      pending: () => waiting.size,
    }
  })
}
