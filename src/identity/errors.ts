import { defineError } from '../kernel/errors.ts'

export const NoSuchRealm = defineError<{ tenantId: string }>('no_such_realm', 404, 'Realm {tenantId} does not exist')
/** The queue of password checks is full: too many callers log in at once. */
export const TooManyLogins = defineError('too_many_logins', 503, 'Too many logins at the same time; try again')
