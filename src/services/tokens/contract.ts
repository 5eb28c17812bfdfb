import { contract } from '../../kernel/contract.ts'
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
   * The first tokens of new endpoints with different ids, in the transaction that registers them: an outcome for each, in
   * their order. A token that is not given is generated. `taken`: the application has this token already, and nothing was
   * written for this endpoint. The caller checks given texts (`tokenPattern`, `tokenLengthMax`).
   */
  provision(
    sql: Sql,
    of: { tenantId: string; applicationName: string },
    endpoints: { endpointId: string; token?: string | undefined }[],
  ): Promise<(ProvisionedToken | 'taken')[]>
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
