/**
 * Caches tokens in any status. The service's own events invalidate them: on the writing node after the commit and before the response, on
 * other nodes when the event arrives. Unknown tokens are not cached, so that guessed tokens do not evict valid tokens.
 */

import { createBatcher } from '../../kernel/batcher.ts'
import type { Bus } from '../../kernel/bus.ts'
import { createCache } from '../../kernel/cache.ts'
import { TenantTokensDeleted, TokenStatusChanged, TokensDeleted } from './events.ts'
import type { Lookup, TokenForValidation } from './store.ts'

export interface TokenCache {
  /** Finds a token. It never returns a state from before an invalidation. */
  find(lookup: Lookup): Promise<TokenForValidation | undefined>
  drop(tokenHash: string): void
}

/** Maximum size of the cache. It is enough for about 130,000 tokens. */
const bytesMax = 64 * 1024 * 1024
/** Lookups are combined. A statement has at most `batchMax` lookups, which are collected for at most `batchMs`. */
const batchMax = 128
const batchMs = 3

export function createTokenCache(bus: Bus, load: (lookups: Lookup[]) => Promise<TokenForValidation[]>): TokenCache {
  const cache = createCache<TokenForValidation>({ max: bytesMax, sizeOf: () => 500, bus })
  cache.dropOn(TokenStatusChanged, ({ tokenHash }) => tokenHash)
  cache.dropOn(TokensDeleted, ({ tokens }) => tokens.map(({ tokenHash }) => tokenHash))
  bus.subscribe(TenantTokensDeleted, cache.clear)

  const loadOne = createBatcher<Lookup, TokenForValidation>(
    async (lookups) => {
      const tokenByHash = new Map((await load(lookups)).map((token) => [token.tokenHash, token]))
      return lookups.map(({ tokenHash }) => tokenByHash.get(tokenHash))
    },
    batchMax,
    batchMs,
  )

  return {
    drop: cache.drop,
    find: (lookup) => cache.read(lookup.tokenHash, () => loadOne(lookup)),
  }
}
