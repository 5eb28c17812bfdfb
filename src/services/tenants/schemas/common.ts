import { Name, Type } from '../../../kernel/schema.ts'

/**
 * A tenant ID is the realm's name: part of URLs, of index names and, after `@`, of MQTT user names. Lower case, so that
 * no two tenants differ in case only.
 */
export const tenantIdPattern = '^[a-z0-9][a-z0-9_-]{0,62}$'
export const TenantId = () => Name({ maxLength: 63, pattern: tenantIdPattern })

/** As the identity service has it: no line breaks, no invisible characters, no space at either end. */
export const Username = () =>
  Name({ pattern: '^[^\\s\\p{Cc}\\p{Cf}]([^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]*[^\\s\\p{Cc}\\p{Cf}])?$' })

export const subscriptionTypes = ['PERMANENT', 'RENEWAL', 'TRIAL'] as const
export type SubscriptionType = (typeof subscriptionTypes)[number]

export const SubscriptionTypeV2 = () => Type.Enum([...subscriptionTypes])
/** v1 has no word for a trial and shows it as RENEWAL. */
export const SubscriptionTypeV1 = () => Type.Enum(['PERMANENT', 'RENEWAL'])
