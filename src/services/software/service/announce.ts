import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { SoftwareChanged } from '../events.ts'
import { type ApplicationKey, bumpRevision } from '../store/versions.ts'

/** Announces that targets may have changed. After the commit, nodes read the plan again and push to their endpoints. */
export async function announceChange(
  { bus }: Pick<Kit, 'bus'>,
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
) {
  await bumpRevision(sql, { tenantId, applicationName })
  await bus.publish(sql, SoftwareChanged, { tenantId, applicationName })
}
