/**
 * An MQTT 3.1.1 client for the SDK's device. It publishes with QoS 1 and receives messages. Thousands of clients run in one process. It
 * needs only `mqtt-packet`, which the gateway uses too, because the package `mqtt` is not installed with the platform.
 */
import { EventEmitter } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import mqtt from 'mqtt-packet'
import type { MqttClient } from '../../../sdk/src/device/mqtt-link.ts'

export interface SimulatedClient extends MqttClient {
  /** Closes the connection without DISCONNECT, like a device that loses its power. */
  drop(): void
  /** Sends DISCONNECT and closes the connection. */
  disconnect(): void
}

interface ConnectOptions {
  clientId: string
  username?: string
  password?: string
  connectTimeout: number
}

type Done = (error?: Error) => void

const keepAliveSeconds = 60
const idMax = 0xffff

export function connectMqtt(address: string, options: Record<string, unknown>): SimulatedClient {
  const { clientId, username, password, connectTimeout } = options as unknown as ConnectOptions
  const events = new EventEmitter()
  const socket = openSocket(new URL(address))
  const waiting = new Map<number, Done>()
  let [open, id] = [false, 0]
  const send = (packet: mqtt.Packet) => void socket.write(mqtt.generate(packet))
  const fail = (reason: string) => void socket.destroy(new Error(reason))

  const parser = mqtt.parser({ protocolVersion: 4 })
  parser.on('packet', (packet) => {
    if (packet.cmd === 'connack') {
      if (packet.returnCode !== 0) return fail(`the platform refused the connection (CONNACK ${packet.returnCode})`)
      open = true
      clearTimeout(connectTimer)
      events.emit('connect')
    } else if (packet.cmd === 'publish') {
      if (packet.qos === 1) send({ cmd: 'puback', messageId: packet.messageId! })
      events.emit('message', packet.topic, packet.payload)
    } else if (packet.cmd === 'puback') {
      waiting.get(packet.messageId!)?.()
      waiting.delete(packet.messageId!)
    }
  })
  parser.on('error', (error: Error) => fail(error.message))

  const connectTimer = setTimeout(() => fail('the platform did not answer CONNECT'), connectTimeout)
  const pingTimer = setInterval(() => open && send({ cmd: 'pingreq' }), (keepAliveSeconds * 1000) / 2)
  socket.on(socket instanceof tls.TLSSocket ? 'secureConnect' : 'connect', () =>
    send({
      cmd: 'connect',
      clientId,
      protocolId: 'MQTT',
      protocolVersion: 4,
      clean: true,
      keepalive: keepAliveSeconds,
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password: Buffer.from(password) }),
    }),
  )
  socket.on('data', (bytes: Buffer) => void parser.parse(bytes))
  socket.on('error', (error) => events.emit('error', error))
  socket.on('close', () => {
    clearTimeout(connectTimer)
    clearInterval(pingTimer)
    for (const done of waiting.values()) done(new Error('the connection was closed'))
    waiting.clear()
    events.emit('close')
  })

  const nextId = () => {
    do id = (id % idMax) + 1
    while (waiting.has(id))
    return id
  }
  const disconnect = () => {
    socket.end(mqtt.generate({ cmd: 'disconnect' }))
    socket.destroySoon()
  }
  return {
    on: (event, listener) => events.on(event, listener),
    publish(topic, payload, { qos }, done) {
      if (socket.destroyed || waiting.size === idMax) return done(new Error('the connection is closed'))
      const messageId = nextId()
      waiting.set(messageId, done)
      send({ cmd: 'publish', topic, payload, qos, messageId, dup: false, retain: false })
    },
    end(force, _, done) {
      if (done) {
        if (socket.closed) done()
        else socket.once('close', () => done())
      }
      if (force || !open) socket.destroy()
      else disconnect()
    },
    drop: () => void socket.destroy(),
    disconnect,
  }
}

function openSocket({ protocol, hostname, port: given }: URL): net.Socket {
  const isSecure = protocol === 'mqtts:'
  const host = hostname.replace(/^\[|\]$/g, '')
  const port = Number(given) || (isSecure ? 8883 : 1883)
  return isSecure
    ? tls.connect({ host, port, ...(!net.isIP(host) && { servername: host }) })
    : net.connect({ host, port, noDelay: true })
}
