import { defineEvent } from '../../kernel/bus.ts'
import type { TokenStatus } from './states.ts'

interface ChangedToken {
  endpointId: string
  endpointTokenId: string
  /** What this service finds the token by: a keyed hash, of no use without the key. */
  tokenHash: string
}

export const TokenStatusChanged = defineEvent<
  ChangedToken & { tenantId: string; applicationName: string; from: TokenStatus; to: TokenStatus }
>('tokens.token.status-changed', {
  description:
    'A token moved from one status to another (16/ECAP): Active by its first use or by people; Suspended and Revoked ' +
    "end the endpoint's sessions that use it",
  // What happens to one endpoint's tokens is told in order; endpoints do not wait for each other.
  key: ({ endpointId }) => endpointId,
})

export const TokensDeleted = defineEvent<{ tenantId: string; tokens: ChangedToken[] }>('tokens.token.deleted', {
  description:
    'Tokens were deleted, one by one or with their endpoints, up to a few dozen in one event: sessions that use them end',
})

export const TenantTokensDeleted = defineEvent<{ tenantId: string }>('tokens.tenant.forgotten', {
  description: 'All tokens of a deleted tenant are gone',
})
