import type { Sql } from '../../../kernel/db.ts'
import type { Metadata } from '../metadata.ts'

export interface BatchRow {
  tenantId: string
  taskId: string
  applicationName: string
  versionName: string
  creator: { subject: { type: 'user' | 'client' | 'api-key' | 'system'; id: string }; roles: string[] } | null
}

export interface BatchItem {
  position: number
  endpointId: string | null
  /** Sealed. */
  endpointToken: string | null
  metadata: Metadata | null
}

export interface FinishedItem extends BatchItem {
  state: 'created' | 'failed'
  reason: string | null
}

export async function insertBatch(sql: Sql, batch: BatchRow & { at: Date }, items: Omit<BatchItem, 'position'>[]) {
  const { tenantId, taskId, applicationName, versionName, creator, at } = batch
  await sql`
    insert into register.batches (tenant_id, task_id, application_name, version_name, creator, created_date)
    values (${tenantId}, ${taskId}, ${applicationName}, ${versionName}, ${creator ? sql.json(creator) : null}, ${at})`
  await sql`
    insert into register.batch_items (tenant_id, task_id, position, endpoint_id, endpoint_token, metadata)
    select ${tenantId}, ${taskId}, ordinality, item ->> 'endpointId', item ->> 'endpointToken',
      nullif(item -> 'metadata', 'null')
    from jsonb_array_elements(${sql.json(items as never)}) with ordinality as g(item, ordinality)`
}

export async function findBatch(sql: Sql, tenantId: string, taskId: string): Promise<BatchRow | undefined> {
  const [row] = await sql<BatchRow[]>`
    select tenant_id, task_id, application_name, version_name, creator from register.batches
    where tenant_id = ${tenantId} and task_id = ${taskId}`
  return row
}

/** The next ones to do. A second worker, after the first one lost its connection, waits for it and sees what it did. */
export async function lockPending(sql: Sql, tenantId: string, taskId: string, limit: number): Promise<BatchItem[]> {
  return await sql<BatchItem[]>`
    select position, endpoint_id, endpoint_token, metadata from register.batch_items
    where tenant_id = ${tenantId} and task_id = ${taskId} and state = 'pending'
    order by position limit ${limit} for update`
}

/** In the transaction that registered them: what is noted is done, what is done is noted. */
export async function finishItems(
  sql: Sql,
  of: { tenantId: string; taskId: string },
  items: Pick<FinishedItem, 'position' | 'state' | 'endpointId' | 'endpointToken' | 'reason'>[],
) {
  await sql`
    update register.batch_items i
    set state = d.state, endpoint_id = d."endpointId", endpoint_token = d."endpointToken", reason = d.reason
    from jsonb_to_recordset(${sql.json(items as never)})
      as d(position integer, state text, "endpointId" text, "endpointToken" text, reason text)
    where i.tenant_id = ${of.tenantId} and i.task_id = ${of.taskId} and i.position = d.position`
}

export async function findFinished(sql: Sql, tenantId: string, taskId: string): Promise<FinishedItem[]> {
  return await sql<FinishedItem[]>`
    select position, endpoint_id, endpoint_token, metadata, state, reason from register.batch_items
    where tenant_id = ${tenantId} and task_id = ${taskId} and state <> 'pending' order by position limit 1000`
}

export async function deleteOldBatches(sql: Sql, before: Date) {
  await sql`
    with gone as (delete from register.batches where created_date < ${before} returning tenant_id, task_id)
    delete from register.batch_items i using gone where i.tenant_id = gone.tenant_id and i.task_id = gone.task_id`
}
