/**
 * Whether a password belongs to a hash, remembered: bcrypt costs 70 ms of a core, and a fleet that reconnects brings
 * the same passwords again. A verdict is kept under a keyed hash of credential, bcrypt hash and password, so a
 * changed password never meets an old verdict, and nothing in memory is a password.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { createCache } from '../../../kernel/cache.ts'
import type { Lockout } from '../../../kernel/lockout.ts'
import { createSingleFlight } from '../../../kernel/single-flight.ts'
import type { Hashing } from '../hashing.ts'
import { placeOf } from '../memory.ts'
import type { Login } from '../store/basic.ts'

export interface Verdicts {
  of(client: { tenantId: string; username: string; password: string }, login: Login | undefined): Promise<boolean>
}

const verdictsMax = 100_000
/** Apart from the right ones: who guesses cannot push them out. */
const wrongMax = 10_000
/** Usernames that nobody has share a line, whatever tenant they name. */
const nobodysLine = ''

export function createVerdicts(hashing: Hashing, lockout: Lockout): Verdicts {
  const key = randomBytes(32)
  const right = createCache<true>({ max: verdictsMax })
  const wrong = createCache<true>({ max: wrongMax })
  /** A fleet that shares one password needs one check. */
  const once = createSingleFlight<boolean>()

  async function check(
    name: string,
    { account, line, password, hash }: { account: string; line: string; password: string; hash: string },
  ) {
    if (lockout.lockedFor(account) > 0) return false
    // Counted before the check, which is slow: a thousand guesses at once are no more than the limit.
    lockout.failed(account)
    const matches = await hashing.matches(line, password, hash)
    if (matches) lockout.forget(account)
    ;(matches ? right : wrong).set(name, true)
    return matches
  }

  return {
    async of({ tenantId, username, password }, login) {
      const account = placeOf(tenantId, username)
      const hash = login?.passwordHash ?? hashing.nobodys
      const name = createHmac('sha256', key)
        .update([account, login?.id ?? '', hash, password].join('\0'))
        .digest('base64')
      if (right.get(name)) return true
      if (wrong.get(name)) return false
      const line = login ? tenantId : nobodysLine
      return await once(name, () => check(name, { account, line, password, hash }))
    },
  }
}
