/** The life of client credentials, basic and X.509 alike (document 3, 1.3), as data. */
import { movesOf } from '../../kernel/moves.ts'

export const credentialStates = ['Active', 'Inactive', 'Suspended', 'Revoked'] as const
export type CredentialState = (typeof credentialStates)[number]

/** What people may ask for: Inactive means never used, and nobody can undo a use. */
export const targetStates = ['Active', 'Suspended', 'Revoked'] as const
export type TargetState = (typeof targetStates)[number]

/** Who makes a move: people by the interface, or the client by its first successful authentication. */
export type Mover = 'people' | 'use'

const moves = movesOf<CredentialState, Mover>([
  { from: 'Inactive', to: 'Active', by: 'use' },
  { from: 'Inactive', to: 'Revoked', by: 'people' },
  { from: 'Active', to: 'Suspended', by: 'people' },
  { from: 'Active', to: 'Revoked', by: 'people' },
  { from: 'Suspended', to: 'Active', by: 'people' },
  { from: 'Suspended', to: 'Revoked', by: 'people' },
])

export const { mayMove } = moves

/** What to tell who asked for a move that there is not. */
export function possibleFrom(from: CredentialState): string {
  const targets = moves.from(from).map(({ to, by }) => (by === 'use' ? `${to} by their first use` : to))
  return targets.length > 0 ? `they can become ${targets.join(' or ')}` : `${from} is final`
}

/** Whether a client that presents these credentials is let in. */
export const mayAuthenticate = (state: CredentialState) => state === 'Active' || state === 'Inactive'
