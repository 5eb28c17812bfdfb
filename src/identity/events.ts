import { defineEvent } from '../kernel/bus.ts'
import type { RealmStatus } from './contract.ts'

/** Invalidates all cached data of the realm: settings, clients, keys, built-in roles. */
export const RealmChanged = defineEvent<{ tenantId: string }>('identity.realm.changed', {
  description: 'A realm, its clients, keys or built-in roles changed',
})

export const RealmStatusChanged = defineEvent<{ tenantId: string; status: RealmStatus }>(
  'identity.realm.status-changed',
  {
    description:
      'A realm became available, suspended, disabled or deleted; only users and devices of AVAILABLE realms ' +
      'can log in',
  },
)

/** Denies tokens. An id is `jti:…` of one access token, or `sid:…` of a login. `expiresAt` is in seconds since the epoch. */
export const TokensDenied = defineEvent<{ tenantId: string; ids: string[]; expiresAt: number }>(
  'identity.tokens.denied',
  { description: 'Access tokens ended before they expired, by revocation, logout or deletion of their user' },
)

/** The permissions of a subject changed. Without a subject, caches read the permissions of the whole tenant again. */
export const AccessChanged = defineEvent<{
  tenantId: string
  subject?: { type: 'user' | 'client' | 'api-key'; id: string }
}>('identity.access.changed', {
  description: 'Roles, grants, a user or an API key changed, and with them the permissions of a subject',
})

/**
 * A creator got a grant. This is a separate event from AccessChanged, because it is frequent and only adds permissions, which caches can
 * add without a read.
 */
export const CreatorGranted = defineEvent<{
  tenantId: string
  subject: { type: 'user' | 'client'; id: string }
  resource: string
}>('identity.creator.granted', { description: 'The creator of a resource got every scope on it' })

export const PasswordChanged = defineEvent<{ tenantId: string; username: string }>('identity.password.changed', {
  description: 'The password of a user changed',
})

export const IssuersChanged = defineEvent<{ tenantId: string; issuer: string }>('identity.issuers.changed', {
  description:
    'A tenant registered an external issuer, whose tokens are accepted from now on, or removed one, whose tokens are now rejected',
})
