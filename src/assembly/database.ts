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

export const postgresDirectory = (config: Config) => join(config.dataDirectory, 'postgres')

/** Locks the data directory and opens the database. A second process with the same directory is rejected. */
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

/** Connects a command to the database of the running platform. If no platform runs, starts the database for the command. */
export async function connectDatabase(config: Config, log: Log): Promise<Database> {
  if (!config.databaseUrl) {
    const connection = await connectEmbeddedPostgres(postgresDirectory(config))
    if (connection) return { connection, stop: async () => {} }
    return openDatabase(config, log)
  }
  return { connection: { url: config.databaseUrl }, stop: async () => {} }
}
