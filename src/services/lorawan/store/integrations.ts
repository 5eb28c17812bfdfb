/** SQL that application, account, device and gateway integrations share. */
import type { Sql } from '../../../kernel/db.ts'
import type { DeviceChange } from './device-integrations.ts'
import type { Status } from './status.ts'

export type { Status } from './status.ts'

const tables = {
  app: 'lorawan.app_integrations',
  account: 'lorawan.account_integrations',
  device: 'lorawan.device_integrations',
  gateway: 'lorawan.gateway_integrations',
}
type Kind = keyof typeof tables

interface NameChange {
  name: string
  description: string | null
}
interface Changes {
  app: NameChange & { netApiKey: string }
  account: NameChange & { netApiKey: string }
  device: DeviceChange
  gateway: NameChange
}

/** Changes the configurable columns. Increases the version, which is part of the ETag. */
export async function updateIntegration<K extends Kind>(
  sql: Sql,
  kind: K,
  id: number,
  change: Changes[K] | { status: Status },
) {
  await sql`update ${sql.unsafe(tables[kind])} set ${sql(change)}, version = version + 1 where id = ${id}`
}

export async function deleteIntegration(sql: Sql, kind: Kind, id: number) {
  await sql`delete from ${sql.unsafe(tables[kind])} where id = ${id}`
}
