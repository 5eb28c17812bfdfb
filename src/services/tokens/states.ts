/** Statuses of an endpoint token and their transitions (document 1, section 3; document 3, 1.9). */
import { transitionsOf } from '../../kernel/transitions.ts'

export const tokenStatuses = ['Active', 'Inactive', 'Suspended', 'Revoked'] as const
export type TokenStatus = (typeof tokenStatuses)[number]

/** Statuses that a caller can set. Inactive means never used, so it cannot be set. */
export const targetStatuses = ['Active', 'Suspended', 'Revoked'] as const
export type TargetStatus = (typeof targetStatuses)[number]

/** Cause of a transition: an API request (`people`), or the first successful validation (`use`). */
export type Mover = 'people' | 'use'

const moves = transitionsOf<TokenStatus, Mover>([
  { from: 'Inactive', to: 'Active', by: 'use' },
  { from: 'Inactive', to: 'Revoked', by: 'people' },
  { from: 'Active', to: 'Suspended', by: 'people' },
  { from: 'Active', to: 'Revoked', by: 'people' },
  { from: 'Suspended', to: 'Active', by: 'people' },
  { from: 'Suspended', to: 'Revoked', by: 'people' },
])

export const { isAllowed } = moves

/** Describes the possible transitions, for the error of an impossible one. */
export function possibleFrom(from: TokenStatus): string {
  const targets = moves.from(from).map(({ to, by }) => (by === 'use' ? `${to} by its first use` : to))
  return targets.length > 0 ? `it can become ${targets.join(' or ')}` : `${from} is final`
}

/** Returns whether a token with this status authenticates its endpoint. */
export const isValid = (status: TokenStatus) => status === 'Active' || isAllowed(status, 'Active', 'use')
