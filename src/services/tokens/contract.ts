import { type Ctx, contract } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'

/** What a token may be: it fits into one level of an MQTT topic. */
export const tokenPattern = '^[^+#/.]+$'
export const tokenLengthMax = 255

export interface ProvisionedToken {
  /** The only time that it is shown. */
  token: string
  status: 'Inactive'
}

export interface ValidToken {
  tenantId: string
  applicationName: string
  endpointId: string
  endpointTokenId: string
}

export interface Tokens {
  /**
   * The first token of a new endpoint, in the transaction that registers it; generated when none is given. `taken`: the
   * application has this token already, and nothing was written. The tenant is the one of the context. A given text is
   * checked by whoever asks (`tokenPattern`, `tokenLengthMax`). From here on we know the endpoint: who is asked never
   * asks back.
   */
  provision(
    sql: Sql,
    ctx: Ctx,
    input: { endpointId: string; applicationName: string; token?: string },
  ): Promise<ProvisionedToken | 'taken'>
  /** The endpoints are gone, with this transaction: their tokens go too and can be given anew at once. */
  forget(sql: Sql, tenantId: string, endpointIds: string[]): Promise<void>
  /**
   * The endpoint that a device speaks for with this token, as a version of the token's application; undefined for anything
   * wrong: no such version, no such token, suspended or revoked. The first success makes Inactive Active. The answer is
   * never older than an event (events.ts) that was heard in this process before it came. Whether the tenant itself may
   * talk, and how often somebody may be wrong, is for whoever asks to decide.
   */
  validate(presented: { token: string; versionName: string }): Promise<ValidToken | undefined>
  /** Whether the endpoint can speak for itself at all: it has a token that is neither suspended nor revoked. */
  mayTalk(endpointId: string): Promise<boolean>
}
export const Tokens = contract<Tokens>('tokens')
