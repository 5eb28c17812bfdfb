/**
 * Cache of tokens in any status, invalidated by the service's own events: on the writing node after the commit and before
 * the response, on other nodes when the event arrives. Unknown tokens are not cached, so guesses evict nothing.
 */

import { createBatcher } from '../../kernel/batcher.ts'
import type { Bus } from '../../kernel/bus.ts'
import { createCache } from '../../kernel/cache.ts'
import { TenantTokensDeleted, TokenStatusChanged, TokensDeleted } from './events.ts'
import type { KnownToken, Lookup } from './store.ts'

export interface TokenCache {
  /** Finds a token; never returns a state from before an invalidation. */
  find(lookup: Lookup): Promise<KnownToken | undefined>
  drop(tokenHash: string): void
}

/** Room for about 130,000 tokens. */
const bytesMax = 64 * 1024 * 1024
/** Lookups are batched: at most so many in a statement, or those of so many milliseconds. */
const batchMax = 128
const batchMs = 3

export function createTokenCache(bus: Bus, load: (lookups: Lookup[]) => Promise<KnownToken[]>): TokenCache {
  const cache = createCache<KnownToken>({ max: bytesMax, sizeOf: () => 500, bus })
  cache.dropOn(TokenStatusChanged, ({ tokenHash }) => tokenHash)
  cache.dropOn(TokensDeleted, ({ tokens }) => tokens.map(({ tokenHash }) => tokenHash))
  bus.subscribe(TenantTokensDeleted, cache.clear)

  const loadOne = createBatcher<Lookup, KnownToken>(
    async (lookups) => {
      const found = new Map((await load(lookups)).map((token) => [token.tokenHash, token]))
      return lookups.map(({ tokenHash }) => found.get(tokenHash))
    },
    batchMax,
    batchMs,
  )

  return {
    drop: cache.drop,
    find: (lookup) => cache.read(lookup.tokenHash, () => loadOne(lookup)),
  }
}
