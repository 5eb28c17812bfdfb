import type { Gateway } from '../../../gateway/contract.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { holds, onResource } from '../../../kernel/permissions.ts'
import type { Applications } from '../../applications/contract.ts'
import type { ServiceContents } from '../../binary-data/contract.ts'
import { applicationResource, type Register } from '../../register/contract.ts'
import type { SoftwareSettings } from '../settings.ts'
import type { ApplicationKey } from '../store/versions.ts'
import type { Memberships } from './memberships.ts'
import type { Plans } from './plans.ts'

export interface Deps {
  kit: Kit<SoftwareSettings>
  applications: Applications
  register: Register
  gateway: Gateway
  contents: ServiceContents
  plans: Plans
  memberships: Memberships
}

export const readScope = 'application:software:read'
export const updateScope = 'application:software:update'
export const deleteScope = 'application:software:delete'

/**
 * Returns the application if the caller has the scope on it. Without the permission, the error is the same 404 as for a missing
 * application.
 */
export async function accessible(
  { applications }: Pick<Deps, 'applications'>,
  ctx: Ctx,
  { appName, scope }: { appName: string; scope: string },
  missing: () => Error,
  sql?: Sql,
): Promise<ApplicationKey> {
  const { tenantId, caller } = ctx
  const hasScope = holds(caller, scope, onResource(tenantId, applicationResource(appName)))
  if (!hasScope || !(await applications.exists(ctx, { name: appName }, sql))) throw missing()
  return { tenantId, applicationName: appName }
}
