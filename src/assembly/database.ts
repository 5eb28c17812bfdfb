import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { ConnectionOptions } from '../kernel/db.ts'
import { lockDirectory } from '../kernel/directory-lock.ts'
import { connectEmbeddedPostgres, startEmbeddedPostgres } from '../kernel/embedded-postgres.ts'
import type { Log } from '../kernel/log.ts'

export interface Database {
  connection: ConnectionOptions
  stop(): Promise<void>
}

const postgresDirectory = (config: Config) => join(config.dataDirectory, 'postgres')

/** Holds the data directory and brings up the database; a second process on the same directory is refused. */
export async function openDatabase(config: Config, log: Log): Promise<Database> {
  const lock = lockDirectory(config.dataDirectory)
  try {
    if (config.databaseUrl) {
      const stop = async () => lock.release()
      return { connection: { url: config.databaseUrl }, stop }
    }
    const server = await startEmbeddedPostgres({
      directory: postgresDirectory(config),
      restart: true,
      log: (line) => log.warn({ from: 'postgres' }, line),
    })
    return {
      connection: server.connection,
      stop: async () => {
        await server.stop()
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** For a command beside a running platform: its database; without one, the database alone for as long as the command runs. */
export async function borrowDatabase(config: Config, log: Log): Promise<Database> {
  if (!config.databaseUrl) {
    const connection = await connectEmbeddedPostgres(postgresDirectory(config))
    if (connection) return { connection, stop: async () => {} }
    return openDatabase(config, log)
  }
  return { connection: { url: config.databaseUrl }, stop: async () => {} }
}
