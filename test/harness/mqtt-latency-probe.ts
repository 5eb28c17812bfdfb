/**
 * Program that publishes with QoS 1 at a steady rate, as a normal client, and reports the latencies when the parent process requests them.
 */
import { monotonicMs } from '../../src/kernel/clock.ts'
import { connected } from './mqtt-raw.ts'

const everyMs = 5
const [, , port, topic = 'n'] = process.argv
const client = await connected(Number(port), { clientId: 'latency-probe', keepalive: 10 })
let latencies: number[] = []
let sentAt = 0
let messageId = 0

const send = () => {
  messageId = (messageId % 0xffff) + 1
  sentAt = monotonicMs()
  client.send({ cmd: 'publish', topic, payload: 'hello', qos: 1, messageId, dup: false, retain: false })
}
client.socket.on('data', () => {
  latencies.push(monotonicMs() - sentAt)
  client.received.length = 0
  setTimeout(send, everyMs)
})
client.socket.on('close', () => process.exit(1))
process.on('message', () => {
  process.send!(latencies)
  latencies = []
})
process.on('disconnect', () => process.exit())
send()
process.send!('ready')
