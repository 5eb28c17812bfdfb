/** A PostgreSQL beside the platform, at an address that stays the same when the server is killed and started again. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { ConnectionOptions } from '../../src/kernel/db.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { afterAllTests } from './database.ts'

export interface PostgresServer {
  /** For `WAYPOST_DATABASE_URL`. */
  url: string
  /** For questions of the test itself, of the server that runs now. */
  connection(): EmbeddedPostgres['connection']
  /** As superuser. */
  administration(): EmbeddedPostgres['administration']
  /** To all of its processes. */
  signal(signal: NodeJS.Signals): void
  /** Every process of it at once, as a power cut would. */
  kill(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

export async function startPostgresServer(directory: string): Promise<PostgresServer> {
  const open = () => startEmbeddedPostgres({ directory: join(directory, 'postgres'), log: () => {} })
  let server: EmbeddedPostgres | undefined = await open()
  const { user, password, database } = server.connection

  const door = await tcpProxy(() => server?.connection)

  const own: PostgresServer = {
    url: `postgres://${user}:${password}@127.0.0.1:${door.port}/${database}`,
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
      door.close()
      await server?.stop()
      server = undefined
    },
  }
  afterAllTests(own.stop)
  return own
}

function signal(pids: number[], name: NodeJS.Signals) {
  for (const pid of pids)
    try {
      process.kill(pid, name)
    } catch (error) {
      // It ended while we looked.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
}

/** Leads to a server that listens on a socket, which no URL can name; nowhere while there is none. */
export async function tcpProxy(
  to: () => { host: string; port: number } | undefined,
  /** Ends the connection instead of passing this on. */
  cut: (text: Buffer) => boolean = () => false,
) {
  const joined = (from: Socket, there: Socket) => {
    from.setNoDelay(true)
    from.pipe(there)
    from.on('error', () => there.destroy())
    from.on('close', () => there.destroy())
  }
  const door = createServer((socket) => {
    const target = to()
    if (!target) return void socket.destroy()
    const there = connect(join(target.host, `.s.PGSQL.${target.port}`))
    joined(socket, there)
    joined(there, socket)
    socket.prependListener('data', (text) => {
      if (cut(text)) socket.resetAndDestroy()
    })
  })
  await new Promise<void>((done) => door.listen(0, '127.0.0.1', done))
  return { port: (door.address() as AddressInfo).port, close: () => void door.close() }
}

/** For `WAYPOST_DATABASE_URL`: a database of the tests' server, which listens on a socket only, under a TCP address. */
export async function databaseUrl(connection: ConnectionOptions): Promise<string> {
  const { host, port, user, password, database } = connection as EmbeddedPostgres['connection']
  const door = await tcpProxy(() => ({ host, port }))
  afterAllTests(door.close)
  return `postgres://${user}:${password}@127.0.0.1:${door.port}/${database}`
}

/** One that nobody uses at this moment: for what has to come back under the same address. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return port
}
