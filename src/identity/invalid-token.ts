import { Unauthenticated } from '../kernel/errors.ts'

/** Creates the 401 for every invalid, expired or revoked token or key (RFC 6750, 3.1). It contains no reason. */
export const invalidToken = () =>
  Unauthenticated({}, { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } })
