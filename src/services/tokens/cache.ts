/**
 * What this process keeps in mind of tokens, whatever their status, dropped by our own events: in the process that wrote,
 * after the commit and before the answer leaves; in the others as soon as they hear of it. Texts that are no tokens are
 * not remembered: whoever tries them out would push out the others.
 */
import type { Bus } from '../../kernel/bus.ts'
import { createCache } from '../../kernel/cache.ts'
import { gather } from '../../kernel/gather.ts'
import { TenantTokensDeleted, TokenStatusChanged, TokensDeleted } from './events.ts'
import type { KnownToken, Lookup } from './store.ts'

export interface Memory {
  /** Never what was true only before a drop. */
  find(lookup: Lookup): Promise<KnownToken | undefined>
  drop(tokenHash: string): void
}

/** About a hundred thousand tokens. */
const bytesMax = 64 * 1024 * 1024
const atOnce = 128
const everyMs = 3

export function createMemory(bus: Bus, load: (lookups: Lookup[]) => Promise<KnownToken[]>): Memory {
  const cache = createCache<KnownToken>({ max: bytesMax, sizeOf: () => 500, bus })
  cache.dropOn(TokenStatusChanged, ({ tokenHash }) => tokenHash)
  cache.dropOn(TokensDeleted, ({ tokens }) => tokens.map(({ tokenHash }) => tokenHash))
  bus.hear(TenantTokensDeleted, cache.clear)

  const loadOne = gather<Lookup, KnownToken>(
    async (lookups) => {
      const found = new Map((await load(lookups)).map((token) => [token.tokenHash, token]))
      return lookups.map(({ tokenHash }) => found.get(tokenHash))
    },
    atOnce,
    everyMs,
  )

  return {
    drop: cache.drop,
    find: (lookup) => cache.read(lookup.tokenHash, () => loadOne(lookup)),
  }
}
