/** The library's storage, over one table for all its models. */
import { createHash } from 'node:crypto'
import type { Adapter } from 'oidc-provider'
import { clientOf, metadataOf } from '../clients.ts'
import * as store from '../store/artefacts.ts'
import { extrasOf, tooMany } from './library.ts'
import type { Setting } from './setting.ts'

/** Ids are what a thief would need (a refresh token's id is the token): only their hashes are kept. */
const hash = (id: string) => createHash('sha256').update(id).digest()

/** Where a client authenticates itself: there, an unknown one is a guess. */
const authenticating = new Set(['token', 'introspection', 'revocation'])

export const createAdapter =
  (setting: Setting) =>
  (model: string): Adapter => {
    const { kit, core, realm, library } = setting
    const { tenantId } = realm
    const { unit, sessions, throttle } = core
    const endLogin = (grantId: string) => unit.tx((sql) => sessions.endLogin(sql, tenantId, grantId))

    async function findClient(id: string) {
      const client = clientOf(realm, id)
      if (client) return metadataOf(kit.baseUrl(), client)
      const { ctx } = library.Provider
      if (ctx && authenticating.has(ctx.oidc?.route ?? '')) {
        const counted = await throttle.count({ account: undefined, address: extrasOf(ctx).address })
        if (counted.wait > 0) throw tooMany(library, ctx, counted)
      }
      return undefined
    }

    return {
      async upsert(id, { jti: _, ...payload }, seconds) {
        await store.upsertArtefact(unit.sql(), {
          tenantId,
          model,
          id: hash(id),
          payload,
          grantId: grantOf(model, id, payload),
          uid: (payload.uid as string | undefined) ?? null,
          accountId: accountOf(payload),
          expiresAt: new Date(kit.now().getTime() + seconds * 1000),
        })
      },
      async find(id) {
        if (model === 'Client') return findClient(id)
        const payload = await store.findArtefact(unit.sql(), tenantId, model, hash(id), kit.now())
        return payload && { ...payload, jti: id }
      },
      findByUid: (uid) => store.findArtefactByUid(unit.sql(), tenantId, model, uid, kit.now()),
      findByUserCode: async () => undefined,
      /** The library reads, then consumes: of two at once only one may win, the other one is a reuse. */
      async consume(id) {
        if (await store.consumeArtefact(unit.sql(), tenantId, model, hash(id), kit.now())) return
        const payload = await store.findArtefact(unit.sql(), tenantId, model, hash(id), kit.now())
        if (typeof payload?.grantId === 'string') await endLogin(payload.grantId)
        throw new library.errors.InvalidGrant('already used')
      },
      async destroy(id) {
        if (model === 'Grant') await endLogin(id)
        else await store.deleteArtefact(unit.sql(), tenantId, model, hash(id))
      },
      revokeByGrantId: endLogin,
    }
  }

/** An interaction outlives the login that it found in the browser: it is there to make another one. */
function grantOf(model: string, id: string, payload: store.Payload): string | null {
  if (model === 'Grant') return id
  return model === 'Interaction' ? null : ((payload.grantId as string | undefined) ?? null)
}

function accountOf(payload: store.Payload): string | null {
  const { accountId, result } = payload as { accountId?: string; result?: { login?: { accountId?: string } } }
  return accountId ?? result?.login?.accountId ?? null
}
