/** Several kernel nodes in one process over one database. */
import type { TestContext } from 'node:test'
import type { ConnectionOptions } from '../../src/kernel/db.ts'
import { migrateKernel, preparedDatabase } from './database.ts'
import { type NodeOptions, openNode } from './node.ts'

const stops = new Map<ConnectionOptions, (() => Promise<void>)[]>()

/** Creates a database with the tables of the kernel. Its nodes stop after the test. */
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
