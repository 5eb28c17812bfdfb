/** Nodes of the kernel alone, several of them in one process over one database. */
import type { TestContext } from 'node:test'
import { type ConnectionOptions, connect } from '../../src/kernel/db.ts'
import { createAssembler, openFrame } from '../../src/kernel/signals/frames.ts'
import { afterAllTests, migrateKernel, preparedDatabase } from './database.ts'
import { type NodeOptions, openNode } from './node.ts'

const stops = new Map<ConnectionOptions, (() => Promise<void>)[]>()

/** A database with the kernel's tables; nodes on it stop with the test. */
export async function kernelDatabase(
  test: TestContext,
  make = () => preparedDatabase('kernel', migrateKernel),
): Promise<ConnectionOptions> {
  const connection = await make()
  stops.set(connection, [])
  test.after(async () => {
    for (const stop of stops.get(connection)!) await stop()
  })
  return connection
}

export async function aNode(connection: ConnectionOptions, options: NodeOptions = {}) {
  const node = await openNode(connection, options)
  stops.get(connection)!.push(node.stop)
  return node
}

export type TestNode = Awaited<ReturnType<typeof aNode>>

/** Events that nodes send each other, as anybody with access to the database can read them. */
export async function overheardEvents(connection: ConnectionOptions) {
  // biome-ignore lint/suspicious/noExplicitAny: payloads of every event
  const events: { event: string; payload: any }[] = []
  const pool = connect(connection, { max: 1 })
  const [row] = await pool<{ key: Uint8Array }[]>`select key from kernel.signal_key`
  const assembler = createAssembler()
  await pool.listen('waypost_all', (text) => {
    const frame = openFrame(Buffer.from(row!.key), 'all', text)
    for (const { topic, payload } of (frame && assembler.add('all', frame)) ?? []) {
      if (topic !== 'kernel.event') continue
      const { event, payloads } = payload as { event: string; payloads: unknown[] }
      events.push(...payloads.map((one) => ({ event, payload: one })))
    }
  })
  afterAllTests(() => pool.end())
  return events
}
