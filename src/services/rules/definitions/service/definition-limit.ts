/** Limits the definitions of a tenant, because every node keeps the definitions of all tenants in memory. */
import type { Sql } from '../../../../kernel/db.ts'
import { TooManyDefinitions } from '../../errors.ts'
import { sizeOfDefinitions } from '../store/sizes.ts'
import type { Deps } from './deps.ts'

/**
 * Throws 400 if the definitions of the tenant are larger than the limit, and larger than `before`, their size before the change. Call it
 * after a change, in its transaction. Changes at the same time can exceed the limit together by a few definitions.
 */
export async function checkDefinitionLimit({ kit }: Pick<Deps, 'kit'>, sql: Sql, tenantId: string, before = 0) {
  const { definitionBytesPerTenant: limit } = kit.settings
  const bytes = await sizeOfDefinitions(sql, tenantId)
  if (bytes > limit && bytes > before) throw TooManyDefinitions({ limit })
}
