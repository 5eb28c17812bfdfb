/** Starts the PostgreSQL server that is part of Waypost; embedded-postgres/README.md describes its parts. */
import { existsSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { lockDirectory } from './directory-lock.ts'
import { chooseAccount } from './embedded-postgres/account.ts'
import { locateBinaries } from './embedded-postgres/binaries.ts'
import {
  adoptCluster,
  chooseLocation,
  createCluster,
  layout,
  readPassword,
  rejectOtherMajor,
  removePartialClusters,
  superuser,
  writeDurably,
} from './embedded-postgres/cluster.ts'
import type { PostgresConnection } from './embedded-postgres/connection.ts'
import { stopOrphan } from './embedded-postgres/orphan.ts'
import { ensureOwner, owner, readOwnerPassword } from './embedded-postgres/owner.ts'
import { startWithRestarts } from './embedded-postgres/restart.ts'
import { startServer } from './embedded-postgres/server.ts'
import { settings } from './embedded-postgres/settings.ts'
import {
  createSocketDirectory,
  isListening,
  port,
  recordedSocketDirectory,
  removeSocketDirectory,
  removeSockets,
} from './embedded-postgres/socket.ts'

export type EmbeddedPostgres = {
  /** Connects as the role that owns the database and is not a superuser. */
  connection: PostgresConnection
  /** Connects as superuser. */
  administration: PostgresConnection
  /** Stops the server within 8 seconds; committed data is safe in any case. */
  stop(): Promise<void>
  /** Pids of the server's processes, the main one first. */
  pids(): number[]
  /** Resolves with the exit code if the server exits without `stop`. */
  exited: Promise<number>
}

export type EmbeddedPostgresOptions = {
  /** A directory for the server only, such as <data>/postgres; created if missing. */
  directory: string
  log(line: string): void
  /** Memory of the machine, if it differs from what the operating system reports. */
  memoryBytes?: number
  /** Restarts the server at the same address when it exits by itself; then `exited` never resolves. */
  restart?: boolean
  /** Overrides settings of the server. Use it only for a server whose data may be lost. */
  settings?: Record<string, string | number>
}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const directory = resolve(options.directory)
  // While this process holds the lock, a server that still runs in the directory is an orphan and may be stopped.
  const lock = lockDirectory(directory)
  let socketDirectory: string | undefined
  const cleanUp = () => {
    // This function can run twice: when the server exits, and at `stop`. It removes the recorded directory only the first time, because at
    // the second run the record may already belong to the next server.
    if (socketDirectory) {
      rmSync(layout(directory).socket, { force: true })
      removeSocketDirectory(socketDirectory)
      socketDirectory = undefined
    }
    lock.release()
  }
  try {
    chooseLocation(directory)
    const { cluster, socket } = layout(directory)
    const account = chooseAccount(cluster)
    const binaries = locateBinaries(account, directory)
    removePartialClusters(cluster)
    const isNew = !existsSync(cluster)
    if (!isNew) {
      rejectOtherMajor(cluster, binaries)
      await stopOrphan(cluster)
      adoptCluster(cluster, account)
    }
    removeSocketDirectory(recordedSocketDirectory(socket))
    socketDirectory = createSocketDirectory(account)
    writeDurably(socket, socketDirectory)
    if (isNew) await createCluster(cluster, directory, binaries, account, socketDirectory)

    const administration = superuserConnection(directory, socketDirectory)
    const serverSettings = { ...settings(socketDirectory, options.memoryBytes), ...options.settings }
    const start = () => startServer({ cluster, binaries, account, settings: serverSettings, log: options.log })
    const stopOrphanAndStart = async () => {
      await stopOrphan(cluster)
      removeSockets(administration.host)
      return await start()
    }
    const server = options.restart ? await startWithRestarts(stopOrphanAndStart, options.log) : await start()
    server.exited.then(cleanUp)
    try {
      await ensureOwner(directory, administration)
    } catch (error) {
      await server.stop()
      throw error
    }
    return {
      connection: ownerConnection(directory, socketDirectory),
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

/** Returns the connection to the server that another process runs in this directory, or undefined if no server is running. */
export async function connectEmbeddedPostgres(
  directory: string,
  as: 'owner' | 'superuser' = 'owner',
): Promise<PostgresConnection | undefined> {
  const socketDirectory = recordedSocketDirectory(layout(resolve(directory)).socket)
  if (!socketDirectory || !(await isListening(socketDirectory))) return undefined
  return (as === 'owner' ? ownerConnection : superuserConnection)(resolve(directory), socketDirectory)
}

function superuserConnection(directory: string, host: string): PostgresConnection {
  return { host, port, user: superuser, password: readPassword(directory), database: 'postgres' }
}

/**
 * Returns the connection of the owner role. If a platform of an older version runs the server, returns the connection of the superuser,
 * because the owner role does not exist yet.
 */
function ownerConnection(directory: string, host: string): PostgresConnection {
  const password = readOwnerPassword(directory)
  if (password === undefined) return superuserConnection(directory, host)
  return { host, port, user: owner, password, database: 'postgres' }
}
