/** The platform as an operator starts it, on no core in particular: load, platform and database share the machine. */
import { join } from 'node:path'
import { connect, type Pool } from '../../src/kernel/db.ts'
import { connectEmbeddedPostgres, type PostgresConnection } from '../../src/kernel/embedded-postgres.ts'
import type { Server } from '../gateway/servers.ts'
import { type Ground, versionName, withoutLimits } from '../gateway/site.ts'
import { type Measured, serviceToken, start } from '../platform.ts'

export interface Site extends Server {
  platform: Measured
  /** One connection to its database. */
  sql: Pool
  connection: PostgresConnection
  tenantId: string
  token(): Promise<string>
}

/** Of the acknowledgement alone: the topics have no request id. */
export async function startSite({ directory, tokens }: Ground, environment: Record<string, string> = {}) {
  const platform = await start(directory, { ...withoutLimits, ...environment })
  const connection = await connectEmbeddedPostgres(join(directory, 'postgres'))
  if (!connection) throw new Error('the database of the platform is not to be found')
  const sql = connect(connection, { max: 1, name: 'bench' })
  const site: Site = {
    name: 'Platform',
    port: Number(new URL(platform.mqttUrl).port),
    pids: [platform.pid],
    expecting: 'acknowledged',
    versionName,
    tokens,
    platform,
    sql,
    connection,
    tenantId: platform.bootstrap.default.tenantId,
    token: () => serviceToken(platform, platform.bootstrap.default),
    collect: async () => {},
    async stop() {
      await sql.end({ timeout: 5 })
      await platform.stop()
    },
  }
  return site
}
