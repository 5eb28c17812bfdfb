import { Name, Type } from '../../../kernel/schema.ts'

/**
 * A tenant id is the name of the realm. It is part of URLs, of index names and, after `@`, of MQTT usernames. It is in lower case, so that
 * no two tenant ids differ only in case.
 */
export const tenantIdPattern = '^[a-z0-9][a-z0-9_-]{0,62}$'
export const TenantId = (
  description = 'Id of the tenant: 1 to 63 lower-case letters, digits, `_` and `-`, beginning with a letter or digit.',
) => Name({ maxLength: 63, pattern: tenantIdPattern, description })

/** A username follows the rule of the identity service: no line breaks, no invisible characters, no space at either end. */
export const Username = () =>
  Name({
    pattern: '^[^\\s\\p{Cc}\\p{Cf}]([^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]*[^\\s\\p{Cc}\\p{Cf}])?$',
    description: 'Username: 1 to 255 characters without line breaks, invisible characters and spaces at either end.',
  })

export const subscriptionTypes = ['PERMANENT', 'RENEWAL', 'TRIAL'] as const
export type SubscriptionType = (typeof subscriptionTypes)[number]

export const SubscriptionTypeV2 = (
  description = 'Subscription of the tenant: PERMANENT, RENEWAL or TRIAL. The platform only stores it.',
) => Type.Enum([...subscriptionTypes], { description })
/** The subscription types of v1. v1 has no value for a trial, so it shows a trial as RENEWAL. */
export const SubscriptionTypeV1 = (
  description = 'Subscription of the tenant: PERMANENT or RENEWAL. A trial of tenant manager v2 is shown as RENEWAL.',
) => Type.Enum(['PERMANENT', 'RENEWAL'], { description })

export const statusReason = () =>
  Type.String({ description: 'Reason why the tenant is FAILED. Absent with any other status.' })
/** Describes a field that is a second name of another field. */
export const sameAs = (field: string) => `The same as \`${field}\`, for existing clients.`
