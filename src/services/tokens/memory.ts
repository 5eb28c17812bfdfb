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
  const cache = createCache<KnownToken>({ bytesMax, sizeOf: () => 500 })
  let drops = 0

  const drop = (tokenHash: string) => {
    drops++
    cache.drop(tokenHash)
  }
  const clear = () => {
    drops++
    cache.clear()
  }
  bus.hear(TokenStatusChanged, ({ tokenHash }) => drop(tokenHash))
  bus.hear(TokensDeleted, ({ tokens }) => {
    for (const { tokenHash } of tokens) drop(tokenHash)
  })
  bus.hear(TenantTokensDeleted, clear)
  bus.onGap(clear)

  const loadOne = gather<Lookup, KnownToken>(
    async (lookups) => {
      const found = new Map((await load(lookups)).map((token) => [token.tokenHash, token]))
      return lookups.map(({ tokenHash }) => found.get(tokenHash))
    },
    atOnce,
    everyMs,
  )

  return {
    drop,
    async find(lookup) {
      for (;;) {
        const before = drops
        const found = await cache.read(lookup.tokenHash, () => loadOne(lookup))
        // Whoever acts on an old word would not hear the new one again. A token that is still kept is found at once.
        if (found === undefined || drops === before) return found
      }
    },
  }
}
