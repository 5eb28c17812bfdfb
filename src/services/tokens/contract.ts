import { type Ctx, contract } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'

export interface ProvisionedToken {
  token: string
  status: 'Inactive'
}

export interface Tokens {
  /**
   * The first token of a new endpoint, in the transaction that registers it; generated when none is given. `taken`: the
   * application has this token already. The tenant is the one of the context.
   */
  provision(
    sql: Sql,
    ctx: Ctx,
    input: { endpointId: string; applicationName: string; token?: string },
  ): Promise<ProvisionedToken | 'taken'>
  /** The endpoints are gone, with this transaction: their tokens go too and can be given anew at once. */
  forget(sql: Sql, tenantId: string, endpointIds: string[]): Promise<void>
}
export const Tokens = contract<Tokens>('tokens')
