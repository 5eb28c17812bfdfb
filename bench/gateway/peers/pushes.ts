/** Two nodes on one database, devices at the second one: how many pushes of the first one reach them in a second. */
import { connect as connectSocket } from 'node:net'
import { buildHouse } from '../../../src/assembly/build.ts'
import { catalogue } from '../../../src/assembly/catalogue.ts'
import { openDatabase } from '../../../src/assembly/database.ts'
import { loadConfig } from '../../../src/config.ts'
import { Gateway } from '../../../src/gateway/contract.ts'
import { monotonicMs, sleep } from '../../../src/kernel/clock.ts'
import { createLog } from '../../../src/kernel/log.ts'
import { connect, publish } from '../packets.ts'

interface Order {
  devices: string[]
  versionName: string
  atOnce: number
  seconds: number
}

const push = { extension: 'cex', resourcePath: '/command/reboot', payload: [{ id: 1, payload: 'x'.repeat(100) }] }
const config = loadConfig(process.env)
const log = await createLog(config.log)
const database = await openDatabase(config, log)

async function startNode() {
  const options = { config, connection: database.connection, log, services: catalogue }
  const house = await buildHouse({ ...options, baseUrl: () => 'http://127.0.0.1' })
  const built = [...house.built.values()]
  await house.kit.jobs.start({ workers: true })
  await house.kit.bus.start({ workers: true })
  for (const service of built) await service.start?.()
  const extensions = built.flatMap(({ device = [] }) => device)
  const doors = await Promise.all(built.flatMap((service) => service.open?.(extensions) ?? []))
  const { mqttUrl } = Object.assign({}, ...doors.map(({ addresses }) => addresses)) as { mqttUrl: string }
  return {
    house,
    port: Number(new URL(mqttUrl).port),
    async stop() {
      await Promise.all(doors.map((door) => door.close()))
      for (const service of built) await service.stop?.()
      await house.kit.bus.stop()
      await house.kit.jobs.stop()
      await house.close()
    },
  }
}

/** Counts the PUBLISH packets that come; each device speaks once, so that the platform knows who it is. */
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
  const { db } = first.house.kit
  const gateway = first.house.ask(Gateway)
  const one = async (endpointId: string) => (await gateway.send(db.sql, endpointId, push)).delivery
  for (;;) {
    const outcomes = await Promise.all(endpointIds.map(one))
    if (outcomes.every((outcome) => outcome === 'delivered')) break
    await sleep(100)
  }
  const before = received()
  const began = monotonicMs()
  let sent = 0
  const lane = async () => {
    while (monotonicMs() - began < order.seconds * 1000) await one(endpointIds[sent++ % endpointIds.length]!)
  }
  await Promise.all(Array.from({ length: order.atOnce }, lane))
  for (let waited = 0; waited < 200 && received() - before < sent; waited++) await sleep(10)
  const perSecond = (received() - before) / ((monotonicMs() - began) / 1000)
  process.send!({ done: { perSecond, sent, received: received() - before } })
  process.on('disconnect', () => {
    void Promise.all([first.stop(), second.stop()])
      .then(() => database.stop())
      .then(() => process.exit())
  })
}

process.once('message', (order) => void measure(order as Order))
