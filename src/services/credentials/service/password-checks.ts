/**
 * Checks passwords and caches the results, because bcrypt takes 70 ms of a core and reconnecting devices send the same
 * passwords. The cache key is an HMAC of credential, bcrypt hash and password, so the cache contains no password.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { createCache } from '../../../kernel/cache.ts'
import type { Lockout } from '../../../kernel/lockout.ts'
import { createSingleFlight } from '../../../kernel/single-flight.ts'
import { cacheKeyOf } from '../cache.ts'
import type { Hashing } from '../hashing.ts'
import type { Login } from '../store/basic.ts'

export interface PasswordChecks {
  of(client: { tenantId: string; username: string; password: string }, login: Login | undefined): Promise<boolean>
}

const rightMax = 100_000
/** Wrong passwords have their own cache, so guesses cannot evict correct ones. */
const wrongMax = 10_000
/** Unknown usernames share one queue, whatever tenant they name. */
const unknownUsersQueue = ''

export function createPasswordChecks(hashing: Hashing, lockout: Lockout): PasswordChecks {
  const key = randomBytes(32)
  const right = createCache<true>({ max: rightMax })
  const wrong = createCache<true>({ max: wrongMax })
  /** Concurrent logins with the same credentials share one check. */
  const once = createSingleFlight<boolean>()

  async function check(
    name: string,
    { account, queue, password, hash }: { account: string; queue: string; password: string; hash: string },
  ) {
    if (lockout.lockedSeconds(account) > 0) return false
    // Counted before the slow check, so that concurrent guesses cannot exceed the limit.
    lockout.recordFailure(account)
    const matches = await hashing.matches(queue, password, hash)
    if (matches) lockout.reset(account)
    ;(matches ? right : wrong).set(name, true)
    return matches
  }

  return {
    async of({ tenantId, username, password }, login) {
      const account = cacheKeyOf(tenantId, username)
      const hash = login?.passwordHash ?? hashing.dummyHash
      const name = createHmac('sha256', key)
        .update([account, login?.id ?? '', hash, password].join('\0'))
        .digest('base64')
      if (right.get(name)) return true
      if (wrong.get(name)) return false
      const queue = login ? tenantId : unknownUsersQueue
      return await once(name, () => check(name, { account, queue, password, hash }))
    },
  }
}
