/** The steps that the session store runs in batches. */
import type { Clock } from '../../kernel/clock.ts'
import type { Db } from '../../kernel/db.ts'
import type { Log } from '../../kernel/log.ts'
import type { Secrets } from '../../kernel/secrets.ts'
import type { Message } from '../mqtt/host.ts'
import type { SessionState } from '../mqtt/session-store.ts'
import type { SessionClaims } from '../session-claims.ts'

export type Step =
  | { kind: 'claim'; key: string; clean: boolean }
  | { kind: 'load'; key: string }
  | { kind: 'save'; key: string; claim: number; session: Pick<SessionState, 'expirySeconds' | 'subscriptions'> }
  | { kind: 'leave'; key: string; claim: number; session: SessionState; yieldedTo: string | undefined }
  | { kind: 'discard'; key: string; claim: number | undefined }
  | { kind: 'remove-holder'; key: string; claim: number }
  | { kind: 'release'; key: string; to: string }
  | { kind: 'enqueue'; key: string; message: Message }
  | { kind: 'delete-message'; key: string; storeId: string }

export type StepOf<K extends Step['kind']> = Extract<Step, { kind: K }>
export type StepResults = Map<Step, unknown>

export interface SessionStoreDeps {
  db: Db
  secrets: Secrets
  now: Clock
  log: Log
  claims: SessionClaims
}

export interface Loaded {
  state: SessionState | undefined
  /** The node that had the client before this node claimed it. Null if no node had the client, or if that node is dead. */
  heldBy: string | null
}
