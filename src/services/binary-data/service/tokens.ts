/** Issues and checks upload tokens, which endpoints use for HTTP uploads instead of their own token. */
import { createHash } from 'node:crypto'
import type { Identity } from '../../../identity/contract.ts'
import { authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { TooManyRequests } from '../../../kernel/errors.ts'
import { newSecret } from '../../../kernel/ids.ts'
import { endpointResource, type Register } from '../../register/contract.ts'
import type { Tokens } from '../../tokens/contract.ts'
import { NoEndpoint, UploadRejected } from '../errors.ts'
import type { BinaryDataSettings } from '../settings.ts'
import * as store from '../store/uploads.ts'

export interface UploadTokenOperations {
  issue(endpoint: { tenantId: string; applicationName: string; endpointId: string }): Promise<string>
  /** Issues a token for a caller that may update the endpoint. */
  create(ctx: Ctx, address: { appName: string; endpointId: string }): Promise<{ token: string; expiresDate: Date }>
  /** Returns the row of a token, which names its endpoint. Throws 403 if the token is not valid. */
  requireValid(token: string | undefined): Promise<store.TokenRow>
}

/** Maximum number of tokens of one endpoint. An endpoint can request several per second, and they expire after an hour. */
export const tokensMax = 10_000
const retrySeconds = 60

const hashOf = (token: string) => createHash('sha256').update(token).digest('base64url')

export function createUploadTokenOperations(
  { db, now, settings }: Kit<BinaryDataSettings>,
  { identity, register, tokens }: { identity: Identity; register: Register; tokens: Tokens },
): UploadTokenOperations {
  async function insert({ tenantId, applicationName, endpointId }: Parameters<UploadTokenOperations['issue']>[0]) {
    const token = newSecret()
    const issuedAt = now()
    const expiresAt = new Date(issuedAt.getTime() + settings.uploadTokenSeconds * 1000)
    const tokenHash = hashOf(token)
    const row = { tokenHash, endpointId, tenantId, applicationName, issuedAt, expiresAt }
    if (await store.insertToken(db.sql, row, tokensMax)) return { token, expiresDate: expiresAt }
    throw TooManyRequests({ seconds: retrySeconds }, { headers: { 'retry-after': String(retrySeconds) } })
  }

  return {
    issue: async (endpoint) => (await insert(endpoint)).token,

    async create(ctx, { appName, endpointId }) {
      const notFound = () => NoEndpoint({ appName, endpointId })
      const endpoint = await register.find(endpointId)
      if (endpoint?.applicationName !== appName || endpoint.tenantId !== ctx.tenantId) throw notFound()
      authorizeOrNotFound(
        ctx,
        { read: 'endpoint:read', scope: 'endpoint:update' },
        endpointResource(endpoint),
        notFound,
      )
      return await insert(endpoint)
    },

    async requireValid(token) {
      if (token === undefined || token === '') throw UploadRejected()
      const row = await store.findToken(db.sql, hashOf(token))
      if (!row || row.expiresAt <= now()) throw UploadRejected()
      const { endpointId, tenantId, applicationName } = row
      // The endpoint is checked at each upload, because an endpoint that may no longer connect may not upload either.
      const [endpoint, hasUsableToken, realm] = await Promise.all([
        register.find(endpointId),
        tokens.hasUsableToken(endpointId),
        identity.realm(tenantId),
      ])
      const isSameEndpoint = endpoint?.tenantId === tenantId && endpoint.applicationName === applicationName
      if (!isSameEndpoint || !hasUsableToken || realm?.status !== 'AVAILABLE') throw UploadRejected()
      return row
    },
  }
}
