/** Starts the platform as an operator does; load, platform and database share all cores. */
import { join } from 'node:path'
import { createDb, type Db } from '../../src/kernel/db.ts'
import { connectEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { type PreparedData, versionName, withoutLimits } from '../gateway/bench-platform.ts'
import type { Server } from '../gateway/servers.ts'
import { type StartedPlatform, serviceToken, startPlatform } from '../platform.ts'

export interface BenchPlatform extends Server {
  platform: StartedPlatform
  /** Connections of the bench to the platform's database. */
  db: Db
  tenantId: string
  token(): Promise<string>
}

export const benchConnectionName = 'bench'
const connections = 4

/** Starts the platform. Its devices expect only a PUBACK, because their topics have no request id. */
export async function startBenchPlatform(
  { directory, tokens }: PreparedData,
  environment: Record<string, string> = {},
) {
  const platform = await startPlatform(directory, { ...withoutLimits, ...environment })
  const connection = await connectEmbeddedPostgres(join(directory, 'postgres'), 'superuser')
  if (!connection) throw new Error('the database of the platform was not found')
  const db = createDb(connection, { max: connections, name: benchConnectionName })
  const bench: BenchPlatform = {
    name: 'Platform',
    port: Number(new URL(platform.mqttUrl).port),
    pids: [platform.pid],
    expecting: 'acknowledged',
    versionName,
    tokens,
    platform,
    db,
    tenantId: platform.bootstrap.default.tenantId,
    token: () => serviceToken(platform, platform.bootstrap.default),
    collectGarbage: async () => {},
    async stop() {
      await db.close()
      await platform.stop()
    },
  }
  return bench
}
