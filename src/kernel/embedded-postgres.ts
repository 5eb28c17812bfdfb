import { existsSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { lockDirectory } from './directory-lock.ts'
import { chooseAccount } from './embedded-postgres/account.ts'
import { locateBinaries } from './embedded-postgres/binaries.ts'
import {
  adoptCluster,
  choosePlace,
  layout,
  makeCluster,
  readPassword,
  refuseOtherMajor,
  removeLeftovers,
  superuser,
  writeDurably,
} from './embedded-postgres/cluster.ts'
import type { PostgresConnection } from './embedded-postgres/connection.ts'
import { stopOrphan } from './embedded-postgres/orphan.ts'
import { ensureOwner, owner, readOwnerPassword } from './embedded-postgres/owner.ts'
import { revived } from './embedded-postgres/revive.ts'
import { startServer } from './embedded-postgres/server.ts'
import { settings } from './embedded-postgres/settings.ts'
import {
  isListening,
  makeSocketDirectory,
  port,
  recordedSocketDirectory,
  removeSocketDirectory,
  removeSockets,
} from './embedded-postgres/socket.ts'

export type EmbeddedPostgres = {
  /** As the role that owns the database and is no superuser. */
  connection: PostgresConnection
  /** As superuser. */
  administration: PostgresConnection
  /** Stops the server within 8 seconds; what was committed is safe in any case. */
  stop(): Promise<void>
  /** The server's processes, the main one first. */
  pids(): number[]
  /** Resolves with the exit code if the server ends without having been stopped. */
  exited: Promise<number>
}

export type EmbeddedPostgresOptions = {
  /** A directory for the server alone, such as <data>/postgres; made if missing. */
  directory: string
  log(line: string): void
  /** What the machine has, where the operating system does not know. */
  memoryBytes?: number
  /** Starts it again, at the same address, when it ends by itself: then `exited` never resolves. */
  revive?: boolean
  /** In place of the usual ones, for a server whose data nobody will miss. */
  settings?: Record<string, string | number>
}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const directory = resolve(options.directory)
  // Whoever holds this may stop a server that is still running here: it has lost its platform.
  const lock = lockDirectory(directory)
  let socketDirectory: string | undefined
  const cleanUp = () => {
    // Once: after a server that died and was stopped too, the record may already be its successor's.
    if (socketDirectory) {
      rmSync(layout(directory).socket, { force: true })
      removeSocketDirectory(socketDirectory)
      socketDirectory = undefined
    }
    lock.release()
  }
  try {
    choosePlace(directory)
    const { cluster, socket } = layout(directory)
    const account = chooseAccount(cluster)
    const binaries = locateBinaries(account, directory)
    removeLeftovers(cluster)
    const isNew = !existsSync(cluster)
    if (!isNew) {
      refuseOtherMajor(cluster, binaries)
      await stopOrphan(cluster)
      adoptCluster(cluster, account)
    }
    removeSocketDirectory(recordedSocketDirectory(socket))
    socketDirectory = makeSocketDirectory(account)
    writeDurably(socket, socketDirectory)
    if (isNew) await makeCluster(cluster, directory, binaries, account, socketDirectory)

    const administration = administrationOf(directory, socketDirectory)
    const serverSettings = { ...settings(socketDirectory, options.memoryBytes), ...options.settings }
    const start = () => startServer({ cluster, binaries, account, settings: serverSettings, log: options.log })
    const again = async () => {
      await stopOrphan(cluster)
      removeSockets(administration.host)
      return await start()
    }
    const server = options.revive ? await revived(again, options.log) : await start()
    server.exited.then(cleanUp)
    try {
      await ensureOwner(directory, administration)
    } catch (error) {
      await server.stop()
      throw error
    }
    return {
      connection: connectionTo(directory, socketDirectory),
      administration,
      pids: server.pids,
      exited: server.exited,
      async stop() {
        await server.stop()
        cleanUp()
      },
    }
  } catch (error) {
    cleanUp()
    throw error
  }
}

/** How to reach the server that another process runs in this directory; undefined when none is running. */
export async function connectEmbeddedPostgres(
  directory: string,
  as: 'owner' | 'superuser' = 'owner',
): Promise<PostgresConnection | undefined> {
  const socketDirectory = recordedSocketDirectory(layout(resolve(directory)).socket)
  if (!socketDirectory || !(await isListening(socketDirectory))) return undefined
  return (as === 'owner' ? connectionTo : administrationOf)(resolve(directory), socketDirectory)
}

function administrationOf(directory: string, host: string): PostgresConnection {
  return { host, port, user: superuser, password: readPassword(directory), database: 'postgres' }
}

/** As superuser beside a running platform of an older version, which has made no other role. */
function connectionTo(directory: string, host: string): PostgresConnection {
  const password = readOwnerPassword(directory)
  if (password === undefined) return administrationOf(directory, host)
  return { host, port, user: owner, password, database: 'postgres' }
}
