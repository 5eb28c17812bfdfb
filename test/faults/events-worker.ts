/**
 * Node that publishes and delivers events until it is killed. The publishing transaction writes a row to `faults.published`, and the event
 * handler writes a row to `faults.delivered`. The node also subscribes to the events and reports each received event to the parent process.
 */
import { sleep } from '../../src/kernel/clock.ts'
import { openNode } from '../harness/node.ts'
import { Happened, type WorkerReport, type WorkerTask } from './events-shared.ts'

const { connection, name } = JSON.parse(process.argv[2]!) as WorkerTask
const node = await openNode(connection, { connections: 8, level: 'fatal' })
const { db, bus, signals } = node
const report = (message: WorkerReport) => process.send!(message)

bus.handle('faults.events', Happened, async (sql, { key, n }) => {
  await sql`insert into faults.delivered (key, n, by) values (${key}, ${n}, ${name})`
})

let received: string[] = []
bus.subscribe(Happened, ({ key, n }) => {
  received.push(`${key} ${n}`)
})
signals.onReset(() => report({ reset: true }))
setInterval(() => {
  if (received.length > 0) report({ events: received })
  received = []
}, 20)

let isStopping = false
process.on('message', () => {
  isStopping = true
})
process.on('disconnect', () => process.exit())

/**
 * Publishes an event. The transaction locks the row of the key until its commit, so events of one key commit in the order of their numbers.
 */
async function publish(key: string) {
  await db.tx(async (sql) => {
    const [row] = await sql<{ n: number }[]>`
      insert into faults.keys (key, n) values (${key}, 1) on conflict (key) do update set n = keys.n + 1 returning n`
    await sql`insert into faults.published (key, n, by) values (${key}, ${row!.n}, ${name})`
    await bus.publish(sql, Happened, { tenantId: 'default', key, n: row!.n })
  })
}

await node.start()
report({ started: true })
await Promise.all(
  [`${name} own`, 'shared 1', 'shared 2'].map(async (key) => {
    while (!isStopping) {
      await publish(key)
      await sleep(Math.random() * 4)
    }
  }),
)
await bus.settled()
report({ settled: true })
