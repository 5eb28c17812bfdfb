/** SQL for the writer of a script, which is the caller that last wrote it. */
import type { Sql } from '../../../../kernel/db.ts'

/** Sets the writer of a rule or an action. Returns false if the writer is the same as before. */
export async function setWriter(
  sql: Sql,
  table: 'rules' | 'actions',
  { tenantId, id }: { tenantId: string; id: string },
  { writerType, writerId }: { writerType: string; writerId: string },
): Promise<boolean> {
  const { count } = await sql`
    update ${table === 'rules' ? sql`rules.rules` : sql`rules.actions`}
    set writer_type = ${writerType}, writer_id = ${writerId}
    where tenant_id = ${tenantId} and id = ${id} and (writer_type, writer_id) <> (${writerType}, ${writerId})`
  return count > 0
}
