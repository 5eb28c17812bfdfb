import { defineEvent } from '../kernel/bus.ts'
import type { RealmStatus } from './contract.ts'

/** Whatever is cached of the realm (settings, clients, keys, built-in roles) is out of date. */
export const RealmChanged = defineEvent<{ tenantId: string }>('identity.realm.changed', {
  description: 'A realm, its clients, keys or built-in roles changed',
})

export const RealmStatusChanged = defineEvent<{ tenantId: string; status: RealmStatus }>(
  'identity.realm.status-changed',
  { description: 'A realm became available, suspended, disabled or deleted: only AVAILABLE ones log in and talk' },
)

/** `id` is `jti:…` of one access token or `sid:…` of a login; `expiresAt` in epoch seconds. */
export const TokensDenied = defineEvent<{ tenantId: string; ids: string[]; expiresAt: number }>(
  'identity.tokens.denied',
  { description: 'Access tokens ended before they expired: revoked, logged out, or their user is gone' },
)
