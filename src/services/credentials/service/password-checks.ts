/**
 * Checks passwords and caches the results, because bcrypt takes 70 ms of a core and reconnecting devices send the same passwords. The cache
 * key is an HMAC of credential, bcrypt hash and password, so that the cache contains no password.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { createCache } from '../../../kernel/cache.ts'
import { networkOf } from '../../../kernel/client-address.ts'
import type { Lockout } from '../../../kernel/lockout.ts'
import { createSingleFlight } from '../../../kernel/single-flight.ts'
import { cacheKeyOf } from '../cache.ts'
import type { Hashing } from '../hashing.ts'
import type { Login } from '../store/basic.ts'

export interface PasswordChecks {
  isCorrect(
    client: { tenantId: string; username: string; password: string; address: string },
    login: Login | undefined,
  ): Promise<boolean>
}

const correctMax = 100_000
/** Maximum number of cached wrong passwords. They have their own cache, so that guesses cannot evict correct passwords. */
const wrongMax = 10_000
/** The checks of unknown usernames share one queue, whichever tenant they name. */
const unknownUsersQueue = ''

/**
 * Counts wrong passwords by username and address, so that an attacker cannot lock out other clients. Also counts them by username over all
 * addresses.
 */
export interface Lockouts {
  pairs: Lockout
  usernames: Lockout
}

export function createPasswordChecks(hashing: Hashing, { pairs, usernames }: Lockouts): PasswordChecks {
  const hmacKey = randomBytes(32)
  const correctPasswords = createCache<true>({ max: correctMax })
  const wrongPasswords = createCache<true>({ max: wrongMax })
  /** Concurrent logins with the same credentials share one check. */
  const singleFlight = createSingleFlight<boolean>()

  async function check(
    cacheKey: string,
    { account, pair, ...check }: { account: string; pair: string; queue: string; password: string; hash: string },
  ) {
    if (pairs.lockedSeconds(pair) > 0 || usernames.lockedSeconds(account) > 0) return false
    // The attempt is counted before the slow check, so that concurrent guesses cannot exceed the limit.
    pairs.recordFailure(pair)
    usernames.recordFailure(account)
    const matches = await hashing.matches(check.queue, check.password, check.hash)
    if (matches) {
      pairs.reset(pair)
      usernames.reset(account)
    }
    ;(matches ? correctPasswords : wrongPasswords).set(cacheKey, true)
    return matches
  }

  return {
    async isCorrect({ tenantId, username, password, address }, login) {
      const account = cacheKeyOf(tenantId, username)
      const hash = login?.passwordHash ?? hashing.dummyHash
      const cacheKey = createHmac('sha256', hmacKey)
        .update([account, login?.id ?? '', hash, password].join('\0'))
        .digest('base64')
      if (correctPasswords.get(cacheKey)) return true
      if (wrongPasswords.get(cacheKey)) return false
      const queue = login ? tenantId : unknownUsersQueue
      const pair = `${networkOf(address)} ${account}`
      return await singleFlight(`${pair} ${cacheKey}`, () => check(cacheKey, { account, pair, queue, password, hash }))
    },
  }
}
