/** Stores logins whose password was correct and whose second factor is still missing, by the id of oidc-provider's interaction. */
import { createHash } from 'node:crypto'
import type { Kit } from '../../kernel/define-service.ts'
import * as artefacts from '../store/artefacts.ts'
import type { FlowState } from './flow.ts'

const model = 'PendingLogin'
const minutes = 15

const hash = (text: string) => createHash('sha256').update(text).digest()

export type PendingLogins = ReturnType<typeof createPendingLogins>

export function createPendingLogins({ db, now }: Pick<Kit, 'db' | 'now'>) {
  return {
    async save(tenantId: string, uid: string, userId: string, state: FlowState) {
      await artefacts.upsertArtefact(db.sql, {
        tenantId,
        model,
        id: hash(uid),
        payload: { ...state },
        grantId: null,
        uid: null,
        // A change of the password deletes all rows with this account id.
        accountId: userId,
        expiresAt: new Date(now().getTime() + minutes * 60_000),
      })
    },
    async find(tenantId: string, uid: string): Promise<{ userId: string; state: FlowState } | undefined> {
      const userId = await artefacts.findAccountOf(db.sql, tenantId, model, hash(uid), now())
      const payload = await artefacts.findArtefact(db.sql, tenantId, model, hash(uid), now())
      return userId && payload ? { userId, state: payload as unknown as FlowState } : undefined
    },
    remove: (tenantId: string, uid: string) => artefacts.deleteArtefact(db.sql, tenantId, model, hash(uid)),
  }
}
