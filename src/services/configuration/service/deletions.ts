/** Deletes the data of deleted endpoints, versions, applications and tenants. */
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import type { Register } from '../../register/contract.ts'
import * as store from '../store/cleanup.ts'
import { WriteConfigurations } from './work.ts'

export interface DeletionOperations {
  forgetEndpoints(sql: Sql, endpoints: { tenantId: string; endpointIds: string[]; until: Date }): Promise<void>
  forgetVersion(sql: Sql, version: { tenantId: string; versionName: string }): Promise<void>
  forgetApplication(sql: Sql, application: { tenantId: string; applicationName: string }): Promise<void>
  forgetTenant(sql: Sql, tenantId: string): Promise<void>
  /** Deletes contents without references. Also deletes rows that were written for an endpoint while it was being unregistered. */
  sweep(sql: Sql): Promise<void>
}

const ForgetVersion = defineJob<{ tenantId: string; versionName: string; until: string }>(
  'configuration.forget-version',
  { timeoutSeconds: 3600 },
)
const ForgetTenant = defineJob<{ tenantId: string }>('configuration.forget-tenant', { timeoutSeconds: 3600 })

const rowsPerStatement = 5000
/** A content that has lost a reference is deleted only after this time, because a delivery that is being recorded may still refer to it. */
const releasedMs = 5 * 60_000
/**
 * `sweep` looks for rows of unregistered endpoints among the writes of this period. It is longer than any request that began before its
 * endpoint was unregistered.
 */
const orphansMs = 2 * 3600_000

export function createDeletionOperations(
  { db, jobs, bulk, now }: Pick<Kit, 'db' | 'jobs' | 'bulk' | 'now'>,
  register: Pick<Register, 'relation'>,
): DeletionOperations {
  const ago = (ms: number) => new Date(now().getTime() - ms)
  jobs.handle(ForgetVersion, async ({ until, ...version }) => {
    while (
      (await store.deleteSomeOfVersion(db.sql, { ...version, until: new Date(until) }, rowsPerStatement, now())) > 0
    );
  })
  jobs.handle(ForgetTenant, async ({ tenantId }) => {
    while ((await store.deleteSomeOfTenant(db.sql, tenantId, rowsPerStatement)) > 0);
    while (await db.tx((sql) => bulk.deleteTenantTasks(sql, tenantId, [WriteConfigurations])));
  })
  return {
    forgetEndpoints: (sql, endpoints) => store.deleteOfEndpoints(sql, register.relation, endpoints, now()),
    async forgetVersion(sql, version) {
      const until = now()
      await store.deleteDefaultsOfVersion(sql, { ...version, until }, until)
      await jobs.send(sql, ForgetVersion, { ...version, until: until.toISOString() })
    },
    forgetApplication: (sql, { tenantId, applicationName }) =>
      store.deleteSystemOfApplication(sql, tenantId, applicationName),
    forgetTenant: (sql, tenantId) => jobs.send(sql, ForgetTenant, { tenantId }),
    async sweep(sql) {
      await store.deleteOrphans(sql, register.relation, ago(orphansMs), now())
      while ((await store.sweepContents(sql, ago(releasedMs), rowsPerStatement)) === rowsPerStatement);
    },
  }
}
