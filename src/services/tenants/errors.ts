import { defineError } from '../../kernel/errors.ts'

export const TenantTaken = defineError<{ tenantId: string }>(
  'tenant_taken',
  409,
  'Tenant {tenantId} already exists, or existed once; choose another id',
)

export const TransitionRejected = defineError<{ tenantId: string; from: string; to: string }>(
  'tenant_move_refused',
  400,
  'Tenant {tenantId} is {from} and cannot become {to}',
)

export const BuiltInTenant = defineError<{ tenantId: string }>(
  'tenant_built_in',
  400,
  'Tenant {tenantId} is built in: it stays AVAILABLE and cannot be deleted',
)

export const UnusableTemplate = defineError<{ template: string; problem: string }>(
  'template_unusable',
  400,
  'The realm cannot be built from {template}: {problem}',
)

export const StillUsed = defineError<{ what: string; tenantId: string }>(
  'still_used',
  400,
  '{what} cannot be deleted: it is used by tenant {tenantId}',
)

export const SecretNotHeld = defineError<{ clientId: string }>(
  'secret_not_held',
  403,
  'The secret of client {clientId} is shown only to callers that hold all permissions of the client',
)

export const UsernameTaken = defineError<{ username: string }>(
  'tenant_username_taken',
  409,
  'Another user has the username {username} or the e-mail address; choose others',
)
