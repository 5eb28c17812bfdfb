/**
 * Runs two nodes on one database, with devices at the second node. Measures pushes from the first node, and the signals that the first node
 * receives.
 */
import { connect as connectSocket } from 'node:net'
import { Gateway } from '../../../src/gateway/contract.ts'
import { monotonicMs, sleep } from '../../../src/kernel/clock.ts'
import { connect, publish } from '../packets.ts'
import { database, startNode } from './nodes.ts'
import { signalsOfVisits } from './visits.ts'

interface Order {
  devices: string[]
  /** Devices that connect and disconnect. */
  visitors: string[]
  versionName: string
  atOnce: number
  seconds: number
}

const push = { extension: 'cex', resourcePath: '/command/reboot', payload: [{ id: 1, payload: 'x'.repeat(100) }] }

/** Opens devices and counts the PUBLISH packets that they receive. Each device sends one message, which identifies it. */
function openDevices({ devices, versionName }: Order, port: number) {
  let received = 0
  const name = Buffer.from(push.resourcePath)
  for (const [n, token] of devices.entries()) {
    const socket = connectSocket({ port, host: '127.0.0.1', noDelay: true })
    socket.on('data', (chunk) => {
      for (let at = chunk.indexOf(name); at >= 0; at = chunk.indexOf(name, at + 1)) received++
    })
    const topic = `kp1/${versionName}/cex/${token}/command`
    socket.write(Buffer.concat([connect(`pushed-${n}`), publish(topic, 1, Buffer.from('{}'))]))
  }
  return () => received
}

async function measure(order: Order) {
  const [first, second] = [await startNode(), await startNode()]
  const received = openDevices(order, second.port)
  const endpointIds = order.devices.map((token) => `bench-${token}`)
  const { db } = first.waypost.kit
  const gateway = first.waypost.ask(Gateway)
  const sendPush = async (endpointId: string) => (await gateway.send(db.sql, endpointId, push)).delivery
  for (;;) {
    const outcomes = await Promise.all(endpointIds.map(sendPush))
    if (outcomes.every((outcome) => outcome === 'delivered')) break
    await sleep(100)
  }
  const before = received()
  const began = monotonicMs()
  let sent = 0
  const pushRepeatedly = async () => {
    while (monotonicMs() - began < order.seconds * 1000) await sendPush(endpointIds[sent++ % endpointIds.length]!)
  }
  await Promise.all(Array.from({ length: order.atOnce }, pushRepeatedly))
  for (let waited = 0; waited < 200 && received() - before < sent; waited++) await sleep(10)
  const perSecond = (received() - before) / ((monotonicMs() - began) / 1000)
  const arrived = received() - before
  const visits = () => signalsOfVisits(second, first, order.visitors, order.versionName)
  // The first message with a token activates the token, which causes one signal to every node. Later messages cause no such signal.
  const [firstSignals, signals] = [await visits(), await visits()]
  process.send!({ done: { perSecond, sent, received: arrived, firstSignals, signals } })
  process.on('disconnect', () => {
    void Promise.all([first.stop(), second.stop()])
      .then(() => database.stop())
      .then(() => process.exit())
  })
}

process.once('message', (order) => void measure(order as Order))
