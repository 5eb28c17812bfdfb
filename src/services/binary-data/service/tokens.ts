/** Upload tokens: what an endpoint shows instead of its own token, which never leaves its channel. */
import { createHash } from 'node:crypto'
import type { Identity } from '../../../identity/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { TooManyRequests } from '../../../kernel/errors.ts'
import { newSecret } from '../../../kernel/ids.ts'
import type { Register } from '../../register/contract.ts'
import type { Tokens } from '../../tokens/contract.ts'
import { UploadRefused } from '../errors.ts'
import type { BinaryDataSettings } from '../settings.ts'
import * as store from '../store/uploads.ts'

export interface TokenRules {
  issue(endpoint: { tenantId: string; applicationName: string; endpointId: string }): Promise<string>
  /** Whose token this is; 403 for anything else. */
  admit(token: string | undefined): Promise<store.TokenRow>
}

/** Of one endpoint: several a second, until they expire after an hour. */
export const tokensMax = 10_000
const retrySeconds = 60

const hashOf = (token: string) => createHash('sha256').update(token).digest('base64url')

export function createTokenRules(
  { db, now, settings }: Kit<BinaryDataSettings>,
  { identity, register, tokens }: { identity: Identity; register: Register; tokens: Tokens },
): TokenRules {
  return {
    async issue({ tenantId, applicationName, endpointId }) {
      const token = newSecret()
      const issuedAt = now()
      const expiresAt = new Date(issuedAt.getTime() + settings.uploadTokenSeconds * 1000)
      const tokenHash = hashOf(token)
      const row = { tokenHash, endpointId, tenantId, applicationName, issuedAt, expiresAt }
      if (await store.insertToken(db.sql, row, tokensMax)) return token
      throw TooManyRequests({ seconds: retrySeconds }, { headers: { 'retry-after': String(retrySeconds) } })
    },

    async admit(token) {
      if (token === undefined || token === '') throw UploadRefused()
      const found = await store.findToken(db.sql, hashOf(token))
      if (!found || found.expiresAt <= now()) throw UploadRefused()
      const { endpointId, tenantId, applicationName } = found
      // Asked now, not when the token was given: who may not talk any more may not upload either.
      const [endpoint, mayTalk, realm] = await Promise.all([
        register.find(endpointId),
        tokens.mayTalk(endpointId),
        identity.realm(tenantId),
      ])
      const isItself = endpoint?.tenantId === tenantId && endpoint.applicationName === applicationName
      if (!isItself || !mayTalk || realm?.status !== 'AVAILABLE') throw UploadRefused()
      return found
    },
  }
}
