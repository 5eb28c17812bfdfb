/** Log messages at warn and above of the service. */
import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const tenantBuildFailed = defineLogMessage({
  level: 'error',
  text: 'could not build the realm of a tenant; the tenant is FAILED',
  cause: 'A template of the tenant cannot be used, or every retry of the job failed. `err` has the reason.',
  action: 'Correct the template, or select another version for the tenant, which builds its realm again.',
})

export const realmNotUpdated = defineLogMessage({
  level: 'warn',
  text: 'could not update a realm to the scopes of this release; the realm keeps its old roles',
  cause: 'A template that the tenant was built with cannot be used any more.',
  action: 'Correct the template, or select another version for the tenant, which builds its realm again.',
})
