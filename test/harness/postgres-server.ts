/** PostgreSQL server for fault tests, whose address stays the same when it is killed and started again. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { ConnectionOptions } from '../../src/kernel/db.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { afterAllTests, copyInitializedServer } from './database.ts'

export interface PostgresServer {
  /** Address for the setting `WAYPOST_DATABASE_URL`. */
  url: string
  /** Connection options of the running server, for queries of the test. */
  connection(): EmbeddedPostgres['connection']
  /** Connection options of a superuser. */
  administration(): EmbeddedPostgres['administration']
  /** Sends a signal to all processes of the server. */
  signal(signal: NodeJS.Signals): void
  /** Kills all processes of the server at the same moment, as a power failure does. */
  kill(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

export async function startPostgresServer(directory: string): Promise<PostgresServer> {
  const open = () => startEmbeddedPostgres({ directory: join(directory, 'postgres'), log: () => {} })
  await copyInitializedServer(join(directory, 'postgres'))
  let server: EmbeddedPostgres | undefined = await open()
  const { user, password, database } = server.connection

  const proxy = await tcpProxy(() => server?.connection)

  const postgresServer: PostgresServer = {
    url: `postgres://${user}:${password}@127.0.0.1:${proxy.port}/${database}`,
    connection: () => server!.connection,
    administration: () => server!.administration,
    signal: (name) => signal(server?.pids() ?? [], name),
    async kill() {
      const dying = server!
      server = undefined
      signal(dying.pids(), 'SIGKILL')
      await dying.exited
    },
    async start() {
      server ??= await open()
    },
    async stop() {
      proxy.close()
      await server?.stop()
      server = undefined
    },
  }
  afterAllTests(postgresServer.stop)
  return postgresServer
}

function signal(pids: number[], name: NodeJS.Signals) {
  for (const pid of pids)
    try {
      process.kill(pid, name)
    } catch (error) {
      // ESRCH: the process has already ended.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
}

/**
 * TCP proxy to a PostgreSQL that listens on a Unix socket, because a URL cannot name a Unix socket. Without a target, it refuses
 * connections.
 */
export async function tcpProxy(
  to: () => { host: string; port: number } | undefined,
  /** Called with data of the client. If it returns true, the proxy resets the connection instead of forwarding the data. */
  cut: (text: Buffer) => boolean = () => false,
) {
  const joined = (from: Socket, there: Socket) => {
    from.setNoDelay(true)
    from.pipe(there)
    from.on('error', () => there.destroy())
    from.on('close', () => there.destroy())
  }
  const proxy = createServer((socket) => {
    const target = to()
    if (!target) return void socket.destroy()
    const there = connect(join(target.host, `.s.PGSQL.${target.port}`))
    joined(socket, there)
    joined(there, socket)
    socket.prependListener('data', (text) => {
      if (cut(text)) socket.resetAndDestroy()
    })
  })
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
  return { port: (proxy.address() as AddressInfo).port, close: () => void proxy.close() }
}

/** Returns a TCP URL for `WAYPOST_DATABASE_URL` of a database on the test server, which listens on a Unix socket only. */
export async function databaseUrl(connection: ConnectionOptions): Promise<string> {
  const { host, port, user, password, database } = connection as EmbeddedPostgres['connection']
  const proxy = await tcpProxy(() => ({ host, port }))
  afterAllTests(proxy.close)
  return `postgres://${user}:${password}@127.0.0.1:${proxy.port}/${database}`
}
