import type { Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { newSecret, newShortToken } from '../../../kernel/ids.ts'
import { NoCredential, TransitionRejected, UsernameTaken } from '../errors.ts'
import { CredentialCreated, CredentialDeleted, CredentialPasswordChanged, CredentialStateChanged } from '../events.ts'
import type { Hashing } from '../hashing.ts'
import type { BasicCredential, NewBasicCredential } from '../schemas.ts'
import { allowedTransitionsText, isAllowed, type TargetState } from '../states.ts'
import * as store from '../store/basic.ts'

export interface BasicCredentialOperations {
  /** Yields page by page, so that no database connection is held while a slow client reads the response. */
  list(ctx: Ctx): AsyncIterable<BasicCredential[]>
  read(ctx: Ctx, id: string): Promise<BasicCredential>
  create(ctx: Ctx, input: { username?: string; password?: string }): Promise<NewBasicCredential>
  changeState(ctx: Ctx, id: string, to: TargetState): Promise<void>
  /** Changes the password. Returns the password, which is given or generated. */
  changePassword(ctx: Ctx, id: string, password?: string): Promise<string>
  delete(ctx: Ctx, id: string): Promise<void>
}

const viewOf = ({ lastUseDate, ...row }: store.BasicRow): BasicCredential => ({
  ...row,
  ...(lastUseDate && { lastUseDate }),
})

export function createBasicCredentialOperations(
  { db, bus, now, newId }: Kit,
  hashing: Hashing,
): BasicCredentialOperations {
  return {
    async *list({ tenantId }) {
      let last: store.BasicRow | undefined
      for (;;) {
        const { rows, complete } = await store.findBasicPage(db.sql, tenantId, last)
        yield rows.map(viewOf)
        if (complete) return
        last = rows.at(-1)
      }
    },

    async read({ tenantId }, id) {
      const row = await store.findBasic(db.sql, tenantId, id)
      if (!row) throw NoCredential({ id })
      return viewOf(row)
    },

    async create({ tenantId }, { username = newShortToken(), password = newSecret() }) {
      const passwordHash = await hashing.hash(tenantId, password)
      const [id, at] = [newId(), now()]
      await db.tx(async (sql) => {
        const inserted = await store.insertBasic(sql, { tenantId, id, username, passwordHash, at })
        if (!inserted) throw UsernameTaken({ username })
        await bus.publish(sql, CredentialCreated, { tenantId, credentialId: id, kind: 'basic', username })
      })
      return { id, username, password, state: 'Inactive', createdDate: at, updatedDate: at }
    },

    async changeState({ tenantId }, id, to) {
      await db.tx(async (sql) => {
        const row = await store.lockBasic(sql, tenantId, id)
        if (!row) throw NoCredential({ id })
        const { state: from, username } = row
        if (from === to) return
        if (!isAllowed(from, to, 'caller'))
          throw TransitionRejected({ from, to, possible: allowedTransitionsText(from) })
        await store.setBasicState(sql, tenantId, id, to, now())
        const credential = { tenantId, credentialId: id, kind: 'basic', username } as const
        await bus.publish(sql, CredentialStateChanged, { ...credential, from, to })
      })
    },

    async changePassword({ tenantId }, id, password = newSecret()) {
      if (!(await store.findBasic(db.sql, tenantId, id))) throw NoCredential({ id }) // This check runs before the hashing, which is slow.
      const passwordHash = await hashing.hash(tenantId, password)
      await db.tx(async (sql) => {
        const username = await store.setBasicPassword(sql, { tenantId, id, passwordHash, at: now() })
        if (username === undefined) throw NoCredential({ id })
        await bus.publish(sql, CredentialPasswordChanged, { tenantId, credentialId: id, kind: 'basic', username })
      })
      return password
    },

    async delete({ tenantId }, id) {
      await db.tx(async (sql) => {
        const username = await store.deleteBasic(sql, tenantId, id)
        if (username === undefined) throw NoCredential({ id })
        await bus.publish(sql, CredentialDeleted, { tenantId, credentialId: id, kind: 'basic', username })
      })
    },
  }
}
