/**
 * Finds the code of the error catalogue for an error response of the OpenID Connect provider. The body of the response contains the code
 * of the standard, which is less specific.
 */
import { defineError, errorCatalogue } from '../../kernel/errors.ts'

/** Errors of the standards that have their own name in the catalogue (RFC 6749, 5.2; RFC 6750, 3.1; OpenID Connect Core, 3.1.2.6). */
const standardErrors: Record<string, [status: number, text: string]> = {
  access_denied: [401, 'The tenant is not available at the moment, or the login was refused'],
  insufficient_scope: [403, 'The access token does not have the scope that this needs'],
  invalid_client: [401, 'There is no such client, or its secret is wrong'],
  invalid_grant: [400, 'The user name, password, code or refresh token is wrong, expired or was used already'],
  invalid_redirect_uri: [400, 'The client has not registered this redirect address'],
  invalid_scope: [400, 'The client may not ask for this scope'],
  invalid_token: [401, 'The access token is invalid, expired or revoked'],
  login_required: [400, 'The user has to log in, but the request forbids a login page (prompt=none)'],
  unauthorized_client: [400, 'The client may not use this grant_type or response_type'],
  unsupported_grant_type: [400, 'The realm does not know this grant_type'],
  unsupported_response_type: [400, 'The realm does not know this response_type'],
}
for (const [code, [status, text]] of Object.entries(standardErrors)) defineError(code, status, text)

/** Returns the code of the catalogue for the error of a response. */
export function catalogueCodeOf(error: unknown, status: number): string {
  if (status >= 500) return status === 503 ? 'unavailable' : 'internal'
  if (status === 429) return 'too_many_requests'
  if (status === 404) return 'no_such_route'
  return typeof error === 'string' && errorCatalogue.has(error) ? error : 'invalid_request'
}
