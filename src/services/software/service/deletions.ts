/** Deletes software with its application or tenant, and the states of deleted endpoints. */
import type { Sql } from '../../../kernel/db.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import * as store from '../store/deletions.ts'
import { type ApplicationKey, blockChanges } from '../store/versions.ts'
import type { Deps } from './deps.ts'

export interface DeletionRules {
  /** Deletes the data of endpoints that were unregistered at `until`. If an endpoint was registered again, its later data stays. */
  forgetEndpoints(sql: Sql, endpoints: ApplicationKey & { endpointIds: string[]; until: Date }): Promise<void>
  forgetApplication(sql: Sql, application: ApplicationKey): Promise<void>
  forgetTenant(sql: Sql, tenantId: string): Promise<void>
}

const batchMax = 1000
const ForgetApplication = defineJob<ApplicationKey>('software.forget-application', { timeoutSeconds: 3600 })
const ForgetTenant = defineJob<{ tenantId: string }>('software.forget-tenant', { timeoutSeconds: 3600 })

export function createDeletionRules({ kit, applications, contents, register }: Omit<Deps, 'plans'>): DeletionRules {
  const { db, jobs } = kit
  // Software does not prevent the deletion of its application. Because of the lock, no version can be created until the deletion is
  // committed.
  applications.addUsage({
    plural: 'software versions',
    async count(sql, { applicationName, versionName }) {
      if (versionName === undefined) await blockChanges(sql, applicationName)
      return 0
    },
  })
  jobs.handle(ForgetApplication, async (application, { signal }) => {
    while (await db.tx((sql) => store.deleteRest(sql, application, batchMax))) signal.throwIfAborted()
  })
  jobs.handle(ForgetTenant, async ({ tenantId }, { signal }) => {
    while (await db.tx((sql) => store.deleteOfTenant(sql, tenantId, batchMax))) signal.throwIfAborted()
  })
  return {
    forgetEndpoints: (sql, endpoints) => store.deleteEndpoints(sql, register.relation, endpoints),
    async forgetApplication(sql, application) {
      const contentKeys = await store.deleteApplication(sql, application)
      await jobs.send(sql, ForgetApplication, {
        tenantId: application.tenantId,
        applicationName: application.applicationName,
      })
      if (contentKeys.length > 0) await contents.release(sql, application.tenantId, contentKeys)
    },
    // The contents of a deleted tenant are deleted by the service binary-data.
    forgetTenant: (sql, tenantId) => jobs.send(sql, ForgetTenant, { tenantId }),
  }
}
