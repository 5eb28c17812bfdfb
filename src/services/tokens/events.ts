import { defineEvent } from '../../kernel/bus.ts'
import type { TokenStatus } from './states.ts'

interface ChangedToken {
  endpointId: string
  endpointTokenId: string
  /** A keyed hash by which this service finds the token. It is useless without the key. */
  tokenHash: string
}

export const TokenStatusChanged = defineEvent<
  ChangedToken & { tenantId: string; applicationName: string; from: TokenStatus; to: TokenStatus }
>('tokens.token.status-changed', {
  description:
    'The status of a token changed (16/ECAP). The first use of a token, or a user, sets it to Active. If it is Suspended or Revoked, ' +
    'connections that use the token no longer represent the endpoint',
  // Events about the tokens of one endpoint are delivered in order. Events of different endpoints do not wait for each other.
  key: ({ endpointId }) => endpointId,
})

export const TokensDeleted = defineEvent<{ tenantId: string; tokens: ChangedToken[] }>('tokens.token.deleted', {
  description:
    'Tokens were deleted, alone or with their endpoints. One event contains at most a few dozen tokens. Connections that use these ' +
    'tokens no longer represent the endpoint',
})

export const TenantTokensDeleted = defineEvent<{ tenantId: string }>('tokens.tenant.forgotten', {
  description: 'All tokens of a deleted tenant were deleted',
})
