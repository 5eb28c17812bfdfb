/** Starts a node on a new database, with an application and its endpoints. The bench can add a second node. */
import { join } from 'node:path'
import { connect, type Pool } from '../../src/kernel/db.ts'
import { startEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { bearer, client } from '../../test/harness/client.ts'
import { nodeDirectories } from '../../test/harness/platform.ts'
import { applicationName, createEndpoints, withoutLimits } from '../gateway/bench-platform.ts'
import { removeDirectory, type StartedPlatform, serviceToken, startPlatform, temporaryDirectory } from '../platform.ts'
import { withGarbageCollection } from '../settled-memory.ts'

export interface BenchNodes {
  node: StartedPlatform
  startOther(): Promise<StartedPlatform>
  token(): Promise<string>
  tokens: string[]
  /** Opens connections to the database. */
  connect(max: number): Pool
  close(): Promise<void>
}

export const pathOf = (token: string) => `/cex/api/v1/endpoints/bench-${token}/commands/blink`
export const probePath = `/api/v1/applications/${applicationName}`

export async function openBenchNodes(
  endpoints: number,
  httpConnections: number,
  settings: Record<string, string> = {},
): Promise<BenchNodes> {
  const directory = temporaryDirectory()
  const server = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), log: () => {} })
  const { host, port, user, password, database } = server.connection
  const [one, two] = nodeDirectories(2) as [string, string]
  const environment = {
    ...withoutLimits,
    WAYPOST_DATABASE_URL: `postgres://${user}:${password}@/${database}?host=${encodeURIComponent(host)}&port=${port}`,
    WAYPOST_MASTER_KEY: 'the same for both of these nodes, of course',
    WAYPOST_HTTP_CONNECTIONS: String(httpConnections),
    WAYPOST_HTTP_CONNECTIONS_PER_ADDRESS: String(httpConnections),
    ...withGarbageCollection,
    ...settings,
  }
  const node = await startPlatform(one, environment)
  const token = () => serviceToken(node, node.bootstrap.default)
  return {
    node,
    startOther: () => startPlatform(two, environment),
    token,
    tokens: await createEndpoints(client(node.baseUrl, bearer(await token())), endpoints),
    connect: (max) => connect(server.connection, { max, name: 'bench' }),
    async close() {
      await node.stop()
      await server.stop()
      removeDirectory(directory)
    },
  }
}
