/** Finds stored configurations as the documents that the API sends. Their ETags are also the ETags that If-Match is compared with. */
import type { Sql } from '../../../kernel/db.ts'
import { type Document, documentOf } from '../../../kernel/document.ts'
import { writeEnvelope, writeTenantEnvelope } from '../envelope.ts'
import * as store from '../store.ts'

/** An application or version; `instances` limits the configurations, undefined means all. */
export type ConfigurationTarget = store.ApplicationOrVersion & { instances?: string[] | undefined }
/** The configuration of one instance. */
export type InstanceTarget = store.ApplicationOrVersion & { instance: string }

export async function findEnvelope(sql: Sql, tenantId: string, target: ConfigurationTarget): Promise<Document> {
  const stored = await store.findConfigurations(sql, { tenantId, ...target })
  return documentOf(writeEnvelope(stored, target))
}

export async function findOne(sql: Sql, tenantId: string, { instance, ...target }: InstanceTarget): Promise<Document> {
  const [stored] = await store.findConfigurations(sql, { tenantId, ...target, instances: [instance] })
  return documentOf(JSON.stringify(stored ? stored.config : {}))
}

export async function findTenantEnvelope(sql: Sql, tenantId: string, instances?: string[]): Promise<Document> {
  const stored = await store.findTenantConfigurations(sql, { tenantId, instances })
  return documentOf(writeTenantEnvelope(stored, tenantId))
}
