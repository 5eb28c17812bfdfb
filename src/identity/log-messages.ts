/** Log messages at warn and above of identity. */
import { defineLogMessage } from '../kernel/define-log-message.ts'

export const identityRequestFailed = defineLogMessage({
  level: 'error',
  text: 'request to the OpenID Connect provider failed; the caller got 500',
  cause: 'An unexpected error in the provider or in oidc-provider. The fields name the path and the correlation id.',
  action: 'Report the error with its stack. The caller can repeat the request.',
})

export const lastUseOfKeyNotWritten = defineLogMessage({
  level: 'warn',
  text: 'could not write the last use of an API key; the next use after a minute writes it',
  cause: 'The database rejected the statement or was not reachable. The request with the key was answered.',
  action: 'Nothing, unless this message repeats: then check the database. Only `lastUsedAt` of the key is affected.',
})

export const externalKeysNotFetched = defineLogMessage({
  level: 'warn',
  text: 'could not fetch the keys of an external issuer; its tokens are rejected, retrying after 10 s',
  cause:
    'The discovery document of the issuer is not reachable or not valid, or its address is private and not allowed.',
  action: 'Open `<issuer>/.well-known/openid-configuration` from the platform, or let the tenant correct the issuer.',
})
