import { contract } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'

/** Allows texts that fit into one level of an MQTT topic. */
export const tokenPattern = '^[^+#/.]+$'
export const tokenLengthMax = 255

export interface ProvisionedToken {
  /** The text of the token. It is never returned again. */
  token: string
  status: 'Inactive'
}

export interface ValidToken {
  tenantId: string
  applicationName: string
  endpointId: string
  endpointTokenId: string
}

/** A token that exists but may not be used. */
export interface UnusableToken {
  endpointId: string
  status: 'Suspended' | 'Revoked'
}

export interface Tokens {
  /**
   * Creates the first tokens of new endpoints with distinct ids. Returns a result for each, in order. Without a given token, a token is
   * generated. `taken` means that the application already has this token and nothing was written. The caller validates given tokens.
   */
  provision(
    sql: Sql,
    owner: { tenantId: string; applicationName: string },
    endpoints: { endpointId: string; token?: string | undefined }[],
  ): Promise<(ProvisionedToken | 'taken')[]>
  /** Deletes the tokens of deleted endpoints. The same texts can be used again immediately. */
  deleteTokens(sql: Sql, tenantId: string, endpointIds: string[]): Promise<void>
  /**
   * Returns the endpoint of a token. Returns undefined if the version or token is unknown, or the token is suspended or revoked. The first
   * success activates an Inactive token. The caller checks the tenant's status and limits failed attempts.
   */
  validate(presented: { token: string; versionName: string }): Promise<ValidToken | undefined>
  /** Validates a token like `validate`, but distinguishes a suspended or revoked token from an unknown one. */
  examine(presented: { token: string; versionName: string }): Promise<ValidToken | UnusableToken | undefined>
  /** Returns whether the endpoint has a token that is neither suspended nor revoked. */
  hasUsableToken(endpointId: string): Promise<boolean>
}
export const Tokens = contract<Tokens>('tokens')
