/** Deletes the data of applications and tenants that no longer exist (document 5, 1.10). */
import type { Sql } from '../../../kernel/db.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import * as documents from '../store/documents.ts'
import { insertDeletion } from '../store/outgoing.ts'
import { deleteTenant, lockTenant } from '../store/pipelines.ts'
import { deleteApplication } from '../store/templates.ts'
import type { Deps } from './deps.ts'

export interface Deletions {
  forgetApplication(sql: Sql, tenantId: string, applicationName: string): Promise<void>
  forgetTenant(sql: Sql, tenantId: string): Promise<void>
  /** Enqueues a job that deletes the documents of an index that arrived before the given time. */
  deleteBefore(sql: Sql, indexNo: number, before: Date): Promise<void>
  /**
   * Records that endpoints were unregistered. Their documents stay, but callers with access to a new endpoint with the same id cannot read
   * them.
   */
  recordUnregistered(sql: Sql, tenantId: string, endpointIds: string[], at: Date): Promise<void>
}

const batchMax = 10_000
const DeleteDocuments = defineJob<{
  indexNos: number[]
  /** Only documents that arrived before this time (ISO 8601) are deleted. If absent, all documents are deleted. */
  before?: string
}>('ingest.delete-documents', { timeoutSeconds: 3600 })

export function createDeletions({ kit, applications }: Pick<Deps, 'kit' | 'applications'>): Deletions {
  const { db, jobs } = kit
  // Templates do not prevent the deletion of their application, so the count is 0. The lock of the tenant prevents that a template is
  // created before the deletion is committed.
  applications.addUsage({
    plural: 'templates',
    async count(sql, { tenantId, versionName }) {
      if (versionName === undefined) await lockTenant(sql, tenantId)
      return 0
    },
  })
  jobs.handle(DeleteDocuments, async ({ indexNos, before }, { signal }) => {
    const until = before === undefined ? undefined : new Date(before)
    for (const indexNo of indexNos)
      while (await db.tx((sql) => documents.deletePart(sql, indexNo, until, batchMax))) signal.throwIfAborted()
  })
  async function deleteDocuments(sql: Sql, indexNos: number[]) {
    await jobs.send(sql, DeleteDocuments, { indexNos })
    if (kit.settings.searchUrl !== undefined) for (const indexNo of indexNos) await insertDeletion(sql, indexNo)
  }

  return {
    async forgetApplication(sql, tenantId, applicationName) {
      const indexNo = await deleteApplication(sql, tenantId, applicationName)
      if (indexNo !== undefined) await deleteDocuments(sql, [indexNo])
    },
    async forgetTenant(sql, tenantId) {
      const indexNos = await deleteTenant(sql, tenantId)
      if (indexNos.length > 0) await deleteDocuments(sql, indexNos)
    },
    recordUnregistered: documents.insertUnregistered,
    deleteBefore: (sql, indexNo, before) =>
      jobs.send(sql, DeleteDocuments, { indexNos: [indexNo], before: before.toISOString() }),
  }
}
