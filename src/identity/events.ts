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

/** Without a subject: whatever anybody in the tenant may do has to be looked up again. */
export const AccessChanged = defineEvent<{
  tenantId: string
  subject?: { type: 'user' | 'client' | 'api-key'; id: string }
}>('identity.access.changed', {
  description: 'Roles, grants, a user or an API key changed: what a subject may do is another',
})

/** Apart from AccessChanged because it is frequent and only ever adds: caches take it in without asking again. */
export const CreatorGranted = defineEvent<{
  tenantId: string
  subject: { type: 'user' | 'client'; id: string }
  resource: string
}>('identity.creator.granted', { description: 'Who created a resource holds every scope on it' })

export const PasswordChanged = defineEvent<{ tenantId: string; username: string }>('identity.password.changed', {
  description: 'A user has another password: whoever has noted the old one can forget it',
})

export const IssuersChanged = defineEvent<{ tenantId: string; issuer: string }>('identity.issuers.changed', {
  description: "An external issuer was registered or removed: its tokens count, or count no more, as the tenant's",
})
