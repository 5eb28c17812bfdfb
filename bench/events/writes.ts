/**
 * Compares the rate of API writes of 32 callers on a single node with the rate on the same node while a second node runs. The two kinds of
 * runs alternate.
 */
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { type Ask, bearer, client } from '../../test/harness/client.ts'
import { nodeDirectories } from '../../test/harness/platform.ts'
import { tcpProxy } from '../../test/harness/postgres-server.ts'
import { type StartedPlatform, serviceToken, startPlatform } from '../platform.ts'
import { median } from '../report.ts'

const callers = 32
const rounds = 3

export async function writesRatio(directory: string, seconds: number) {
  const server = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), log: () => {} })
  const { host, port, user, password, database } = server.connection
  const listener = await tcpProxy(() => ({ host, port }))
  const environment = {
    WAYPOST_DATABASE_URL: `postgres://${user}:${password}@127.0.0.1:${listener.port}/${database}`,
    WAYPOST_MASTER_KEY: 'the same for both of these nodes, of course',
  }
  const [one, two] = nodeDirectories(2) as [string, string]
  try {
    const node = await startPlatform(one, environment)
    try {
      const ask = client(node.baseUrl, bearer(await serviceToken(node, node.bootstrap.default)))
      return await alternate(ask, seconds, () => startPlatform(two, environment))
    } finally {
      await node.stop()
    }
  } finally {
    listener.close()
    await server.stop()
  }
}

async function alternate(ask: Ask, seconds: number, startOther: () => Promise<StartedPlatform>) {
  for (let n = 0; n < callers; n++) await ask('POST /api/v1/applications', { name: `written-${n}` })
  await write(ask, seconds) // The first run is a warm-up.
  const [alone, withOther]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    alone.push(await write(ask, seconds))
    const other = await startOther()
    try {
      withOther.push(await write(ask, seconds))
    } finally {
      await other.stop()
    }
  }
  return { ratio: median(withOther) / median(alone), perSecond: median(withOther) }
}

/** Each caller repeatedly changes its own application; each change publishes an event for the caches of all nodes. */
async function write(ask: Ask, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000
  let written = 0
  await Promise.all(
    Array.from({ length: callers }, async (_, n) => {
      while (performance.now() < end) {
        const answer = await ask(`PATCH /api/v1/applications/written-${n}`, { description: `${written}` })
        if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`)
        written++
      }
    }),
  )
  return written / seconds
}
