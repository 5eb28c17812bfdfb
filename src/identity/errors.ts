import { defineError } from '../kernel/errors.ts'

export const NoSuchRealm = defineError<{ tenantId: string }>('no_such_realm', 404, 'Realm {tenantId} does not exist')
/** The queue of password checks is full, because too many callers log in at the same time. */
export const TooManyLogins = defineError('too_many_logins', 503, 'Too many logins at the same time; try again')

export const TooManyOpenLoginsHere = defineError(
  'too_many_open_logins_here',
  429,
  'Too many logins were started from this address and are not finished; finish them or try again later',
)

export const TooManyOpenLogins = defineError(
  'too_many_open_logins',
  503,
  'Too many logins are not finished at the moment; try again later',
)

export const TooManyGrants = defineError<{ subject: string; limit: number }>(
  'too_many_grants',
  409,
  'The grants to {subject} have more than {limit} scopes together; delete grants, or replace them with a grant on a resource that contains the other resources',
)
