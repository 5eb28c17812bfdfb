import { Unauthenticated } from '../kernel/errors.ts'

/** What was presented is false, or was true once (RFC 6750, 3.1). It says no more, whatever the reason. */
export const refused = () => Unauthenticated({}, { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } })
