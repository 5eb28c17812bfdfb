/** States of client credentials, basic and X.509, and their transitions (document 3, 1.3). */
import { transitionsOf } from '../../kernel/transitions.ts'

export const credentialStates = ['Active', 'Inactive', 'Suspended', 'Revoked'] as const
export type CredentialState = (typeof credentialStates)[number]

/** States that a caller can set. Inactive cannot be set, because it means never used. */
export const targetStates = ['Active', 'Suspended', 'Revoked'] as const
export type TargetState = (typeof targetStates)[number]

/** Cause of a transition: an API request (`caller`), or the first successful authentication (`use`). */
export type TransitionCause = 'caller' | 'use'

const transitions = transitionsOf<CredentialState, TransitionCause>([
  { from: 'Inactive', to: 'Active', by: 'use' },
  { from: 'Inactive', to: 'Revoked', by: 'caller' },
  { from: 'Active', to: 'Suspended', by: 'caller' },
  { from: 'Active', to: 'Revoked', by: 'caller' },
  { from: 'Suspended', to: 'Active', by: 'caller' },
  { from: 'Suspended', to: 'Revoked', by: 'caller' },
])

export const { isAllowed } = transitions

/** Returns a text with the possible transitions, for the error of an impossible transition. */
export function allowedTransitionsText(from: CredentialState): string {
  const targets = transitions.from(from).map(({ to, by }) => (by === 'use' ? `${to} by their first use` : to))
  return targets.length > 0 ? `they can become ${targets.join(' or ')}` : `${from} is final`
}

/** Returns whether credentials in this state authenticate a client. */
export const mayAuthenticate = (state: CredentialState) => state === 'Active' || state === 'Inactive'
