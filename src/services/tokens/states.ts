/** Statuses of an endpoint token and their transitions (document 1, section 3; document 3, 1.9). */
import { transitionsOf } from '../../kernel/transitions.ts'

export const tokenStatuses = ['Active', 'Inactive', 'Suspended', 'Revoked'] as const
export type TokenStatus = (typeof tokenStatuses)[number]

/** Statuses that a caller can set. Inactive cannot be set, because it means never used. */
export const targetStatuses = ['Active', 'Suspended', 'Revoked'] as const
export type TargetStatus = (typeof targetStatuses)[number]

/** Cause of a transition: an API request (`caller`), or the first successful validation (`use`). */
export type TransitionCause = 'caller' | 'use'

const transitions = transitionsOf<TokenStatus, TransitionCause>([
  { from: 'Inactive', to: 'Active', by: 'use' },
  { from: 'Inactive', to: 'Revoked', by: 'caller' },
  { from: 'Active', to: 'Suspended', by: 'caller' },
  { from: 'Active', to: 'Revoked', by: 'caller' },
  { from: 'Suspended', to: 'Active', by: 'caller' },
  { from: 'Suspended', to: 'Revoked', by: 'caller' },
])

export const { isAllowed } = transitions

/** Returns a text with the possible transitions, for the error of an impossible transition. */
export function allowedTransitionsText(from: TokenStatus): string {
  const targets = transitions.from(from).map(({ to, by }) => (by === 'use' ? `${to} by its first use` : to))
  return targets.length > 0 ? `it can become ${targets.join(' or ')}` : `${from} is final`
}

/** Returns whether a token with this status authenticates its endpoint. */
export const isValid = (status: TokenStatus) => status === 'Active' || isAllowed(status, 'Active', 'use')
