/** Storage adapter of oidc-provider. One table contains all its models. */
import { createHash } from 'node:crypto'
import type { Adapter, Ctx } from 'oidc-provider'
import { findClient, metadataOf } from '../clients.ts'
import * as store from '../store/artefacts.ts'
import type { InstanceContext } from './instance-context.ts'
import { extrasOf, tooManyAttempts } from './library.ts'

/** Returns the hash of an id. Only hashes are stored, because ids are secrets: the id of a refresh token is the token itself. */
const hash = (id: string) => createHash('sha256').update(id).digest()

/** Routes on which clients authenticate. There, an unknown client counts as a wrong attempt. */
const clientAuthRoutes = new Set(['token', 'introspection', 'revocation'])

export const createAdapter =
  (context: InstanceContext) =>
  (model: string): Adapter => {
    const { kit, core, realm, library } = context
    const { tenantId } = realm
    const { transaction, sessions, lockout, openLogins } = core
    const endLogin = (grantId: string) => transaction.tx((sql) => sessions.endLogin(sql, tenantId, grantId))

    async function findClientMetadata(id: string) {
      const client = findClient(realm, id)
      if (client) return metadataOf(kit.baseUrl(), client)
      const { ctx } = library.Provider
      if (ctx && clientAuthRoutes.has(ctx.oidc?.route ?? '')) {
        const counted = await lockout.countFailure({
          account: undefined,
          address: extrasOf(ctx).address,
          subject: { tenantId, type: 'client' },
        })
        if (counted.wait > 0) throw tooManyAttempts(library, ctx, counted)
      }
      return undefined
    }

    return {
      async upsert(id, { jti: _, ...payload }, seconds) {
        const { ctx } = library.Provider
        const isStart = model === 'Interaction' && ctx?.oidc?.route === 'authorization'
        const address = isStart ? await openLogins.checkLimits(extrasOf(ctx!).address) : undefined
        const origin = model === 'Grant' && ctx ? originOf(ctx) : {}
        await store.upsertArtefact(transaction.sql(), {
          tenantId,
          model,
          id: hash(id),
          payload,
          grantId: grantOf(model, id, payload),
          uid: (payload.uid as string | undefined) ?? null,
          accountId: accountOf(payload),
          expiresAt: new Date(kit.now().getTime() + seconds * 1000),
          ...(address !== undefined && { address }),
          ...origin,
        })
      },
      async find(id) {
        if (model === 'Client') return findClientMetadata(id)
        const payload = await store.findArtefact(transaction.sql(), tenantId, model, hash(id), kit.now())
        return payload && { ...payload, jti: id }
      },
      findByUid: (uid) => store.findArtefactByUid(transaction.sql(), tenantId, model, uid, kit.now()),
      findByUserCode: async () => undefined,
      /** Consumes a code or refresh token once. A second, concurrent use counts as reuse and ends the login. */
      async consume(id) {
        if (await store.consumeArtefact(transaction.sql(), tenantId, model, hash(id), kit.now())) return
        const payload = await store.findArtefact(transaction.sql(), tenantId, model, hash(id), kit.now())
        if (typeof payload?.grantId === 'string') await endLogin(payload.grantId)
        throw new library.errors.InvalidGrant('already used')
      },
      async destroy(id) {
        if (model === 'Grant') await endLogin(id)
        else await store.deleteArtefact(transaction.sql(), tenantId, model, hash(id))
      },
      revokeByGrantId: endLogin,
    }
  }

const userAgentMax = 300

/** Returns the address and the program of a login, by which its user recognises the login. Later writes do not change these values. */
function originOf(ctx: Ctx): { address: string; userAgent?: string } {
  const userAgent = ctx.req.headers['user-agent']?.slice(0, userAgentMax)
  return { address: extrasOf(ctx).address, ...(userAgent !== undefined && { userAgent }) }
}

/**
 * Returns the grant to which a row belongs. An interaction belongs to no grant, because it creates a new login: the end of the browser's
 * earlier login must not delete it.
 */
function grantOf(model: string, id: string, payload: store.Payload): string | null {
  if (model === 'Grant') return id
  return model === 'Interaction' ? null : ((payload.grantId as string | undefined) ?? null)
}

function accountOf(payload: store.Payload): string | null {
  const { accountId, result } = payload as { accountId?: string; result?: { login?: { accountId?: string } } }
  return accountId ?? result?.login?.accountId ?? null
}
