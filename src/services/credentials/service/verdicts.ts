/**
 * Whether a password belongs to a hash, remembered: bcrypt costs 70 ms of a core, and a fleet that reconnects brings
 * the same passwords again. A verdict is kept under a keyed hash of credential, bcrypt hash and password, so a
 * changed password never meets an old verdict, and nothing in memory is a password.
 */
import { createHmac, randomBytes } from 'node:crypto'
import type { Attempts } from '../attempts.ts'
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

export function createVerdicts(hashing: Hashing, attempts: Attempts): Verdicts {
  const key = randomBytes(32)
  const right = createBoundedSet(verdictsMax)
  const wrong = createBoundedSet(wrongMax)
  const running = new Map<string, Promise<boolean>>()

  async function check(
    name: string,
    { account, line, password, hash }: { account: string; line: string; password: string; hash: string },
  ) {
    if (!attempts.reserve(account)) return false
    const matches = await hashing.matches(line, password, hash)
    if (matches) attempts.succeeded(account)
    ;(matches ? right : wrong).add(name)
    return matches
  }

  return {
    async of({ tenantId, username, password }, login) {
      const account = placeOf(tenantId, username)
      const hash = login?.passwordHash ?? hashing.nobodys
      const name = createHmac('sha256', key)
        .update([account, login?.id ?? '', hash, password].join('\0'))
        .digest('base64')
      if (right.has(name)) return true
      if (wrong.has(name)) return false
      // A fleet that shares one password needs one check.
      const known = running.get(name)
      if (known) return known
      const line = login ? tenantId : nobodysLine
      const checking = check(name, { account, line, password, hash }).finally(() => running.delete(name))
      running.set(name, checking)
      return checking
    },
  }
}

function createBoundedSet(max: number) {
  const names = new Set<string>()
  return {
    has(name: string) {
      if (!names.delete(name)) return false
      names.add(name) // a Set keeps the order of insertion: the least recently used is first
      return true
    },
    add(name: string) {
      names.add(name)
      if (names.size > max) names.delete(names.keys().next().value!)
    },
  }
}
