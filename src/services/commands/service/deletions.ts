/** Deletes commands of unregistered endpoints and deleted tenants, and commands that ended long ago. */
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import type { PeriodicTask } from '../../../kernel/periodic.ts'
import type { RowWaits } from '../../../kernel/wait.ts'
import type { Register } from '../../register/contract.ts'
import type { CommandsSettings } from '../settings.ts'
import * as store from '../store/deletions.ts'
import { type CommandState, stateKey } from './invocation.ts'
import { SendBatch } from './tasks.ts'
import { SendCommands } from './work.ts'

export interface Deletions {
  /**
   * Deletes the commands of endpoints that were unregistered at `until`. An endpoint that was registered again keeps its later commands.
   */
  forgetEndpoints(sql: Sql, endpoints: { tenantId: string; endpointIds: string[]; until: Date }): Promise<void>
  forgetApplication(sql: Sql, tenantId: string, applicationName: string): Promise<void>
  forgetTenant(sql: Sql, tenantId: string): Promise<void>
  periodic: PeriodicTask
}

const batchMax = 1000
const ForgetEndpoints = defineJob<{ tenantId: string; endpointIds: string[]; until: string }>(
  'commands.forget-endpoints',
  { timeoutSeconds: 3600 },
)
const ForgetTenant = defineJob<{ tenantId: string }>('commands.forget-tenant', { timeoutSeconds: 3600 })

export function createDeletions(
  { db, jobs, bulk, settings }: Pick<Kit<CommandsSettings>, 'db' | 'jobs' | 'bulk' | 'settings'>,
  states: RowWaits<CommandState>,
  register: Pick<Register, 'relation'>,
): Deletions {
  jobs.handle(ForgetEndpoints, async ({ tenantId, endpointIds, until: text }) => {
    const endpoints = { tenantId, endpointIds, until: new Date(text), registered: register.relation }
    for (let more = true; more; )
      more = await db.tx(async (sql) => {
        const gone = await store.deleteOfEndpoints(sql, { ...endpoints, limit: batchMax })
        const awaited = gone.flatMap(({ waitingNode, ...key }) =>
          waitingNode === null ? [] : [{ id: stateKey(key), to: `node/${waitingNode}` as const }],
        )
        await states.changed(sql, awaited)
        return gone.length === batchMax
      })
    await db.tx((sql) => store.deleteEndpoints(sql, endpoints))
  })
  jobs.handle(ForgetTenant, async ({ tenantId }) => {
    while (await store.deleteOfTenant(db.sql, tenantId, batchMax));
    while (await db.tx((sql) => bulk.deleteTenantTasks(sql, tenantId, [SendBatch, SendCommands])));
  })
  return {
    async forgetEndpoints(sql, { tenantId, endpointIds, until }) {
      if (await store.hasEndpoints(sql, tenantId, endpointIds))
        await jobs.send(sql, ForgetEndpoints, { tenantId, endpointIds, until: until.toISOString() })
    },
    forgetApplication: store.deleteTasksOfApplication,
    forgetTenant: (sql, tenantId) => jobs.send(sql, ForgetTenant, { tenantId }),
    periodic: {
      name: 'commands.retention',
      everySeconds: 600,
      async run() {
        if (settings.days > 0) await deleteOld(db.sql, settings.days)
      },
    },
  }
}

/** Deletes old commands and tasks in parts, each in a transaction of its own. */
export async function deleteOld(sql: Sql, days: number) {
  for (const application of await store.findApplications(sql))
    while ((await store.deleteOld(sql, { ...application, days, limit: batchMax })) === batchMax);
  while ((await store.deleteOldTasks(sql, days, batchMax)) === batchMax);
}
