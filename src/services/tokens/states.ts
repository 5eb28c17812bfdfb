/** The life of an endpoint token (document 1, section 3; document 3, 1.9), as data. */
import { movesOf } from '../../kernel/moves.ts'

export const tokenStatuses = ['Active', 'Inactive', 'Suspended', 'Revoked'] as const
export type TokenStatus = (typeof tokenStatuses)[number]

/** What people may ask for: Inactive means never used, and nobody can undo a use. */
export const targetStatuses = ['Active', 'Suspended', 'Revoked'] as const
export type TargetStatus = (typeof targetStatuses)[number]

/** Who makes a move: people by the interface, or the endpoint by its first successful validation. */
export type Mover = 'people' | 'use'

const moves = movesOf<TokenStatus, Mover>([
  { from: 'Inactive', to: 'Active', by: 'use' },
  { from: 'Inactive', to: 'Revoked', by: 'people' },
  { from: 'Active', to: 'Suspended', by: 'people' },
  { from: 'Active', to: 'Revoked', by: 'people' },
  { from: 'Suspended', to: 'Active', by: 'people' },
  { from: 'Suspended', to: 'Revoked', by: 'people' },
])

export const { mayMove } = moves

/** What to tell who asked for a move that there is not. */
export function possibleFrom(from: TokenStatus): string {
  const targets = moves.from(from).map(({ to, by }) => (by === 'use' ? `${to} by its first use` : to))
  return targets.length > 0 ? `it can become ${targets.join(' or ')}` : `${from} is final`
}

/** Whether an endpoint that presents the token is let in. */
export const isValid = (status: TokenStatus) => status === 'Active' || mayMove(status, 'Active', 'use')
