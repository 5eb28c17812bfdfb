/** Counts the signals that a node receives because of devices that connect to another node, send a message and disconnect. */
import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'
import { sleep } from '../../../src/kernel/clock.ts'
import { connect, publish } from '../packets.ts'
import type { Node } from './nodes.ts'

const concurrentMax = 200
const puback = 0x40

async function visit(port: number, clientId: string, topic: string) {
  const socket = connectSocket({ port, host: '127.0.0.1', noDelay: true })
  socket.write(Buffer.concat([connect(clientId), publish(topic, 1, Buffer.from('{}'))]))
  let received = Buffer.alloc(0)
  // The first four bytes are CONNACK; the byte after them is the type of the next packet.
  while (received[4] !== puback) {
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    received = Buffer.concat([received, chunk])
  }
  socket.end(Buffer.from([0xe0, 0]))
  socket.resume()
  await once(socket, 'close')
}

const receivedBy = async ({ waypost }: Node) =>
  Number((await waypost.kit.metrics.text()).match(/^waypost_signals_received_total (\d+)$/m)?.[1] ?? 0)

const boundEndpoints = async ({ waypost }: Node) => {
  const [row] = await waypost.kit.db.sql`select count(*)::int from gateway.bindings where node_id is not null`
  return row!.count as number
}

/**
 * Connects and disconnects each device once. Returns the number of signals that `other` received until all devices were recorded as
 * disconnected.
 */
export async function signalsOfVisits(node: Node, other: Node, devices: string[], versionName: string) {
  const [before, bound] = [await receivedBy(other), await boundEndpoints(node)]
  const waiting = devices.entries()
  const visitRepeatedly = async () => {
    for (const [n, token] of waiting) await visit(node.port, `visitor-${n}`, `kp1/${versionName}/cex/${token}/command`)
  }
  await Promise.all(Array.from({ length: concurrentMax }, visitRepeatedly))
  while ((await boundEndpoints(node)) > bound) await sleep(50)
  // Signals are sent in batches a few milliseconds after their commit.
  await sleep(500)
  return (await receivedBy(other)) - before
}
