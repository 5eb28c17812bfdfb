/** Hashes passwords of users with scrypt: OWASP's parameters with the least memory, 16 MiB for each check. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { createConcurrencyLimit } from '../kernel/concurrency-limit.ts'
import type { PlatformSettings } from '../kernel/settings.ts'
import { TooManyLogins } from './errors.ts'

export interface Passwords {
  hash(password: string): Promise<string>
  /** Compares a password with a hash. An unknown user (`undefined`) takes as long as a known one. */
  matches(password: string, hash: string | undefined): Promise<boolean>
}

const keyBytes = 32
/** Two checks at a time leave threads of Node's pool for other work. */
const concurrentMax = 2
const queuedMax = 64

type Cost = PlatformSettings['passwordCost']['scrypt']

export function createPasswords(cost: Cost): Passwords {
  const limit = createConcurrencyLimit({
    total: concurrentMax,
    waitingTotal: queuedMax,
    waitMs: Number.POSITIVE_INFINITY,
    rejection: () => TooManyLogins({}, { headers: { 'retry-after': '2' } }),
  })

  const derive = (password: string, salt: Buffer, { N, r, p }: Cost) =>
    limit.run(
      '',
      () =>
        new Promise<Buffer>((resolve, reject) => {
          // Composed and decomposed accents give the same password (RFC 8265).
          scrypt(password.normalize('NFC'), salt, keyBytes, { N, r, p, maxmem: 256 * N * r }, (error, key) =>
            error ? reject(error) : resolve(key),
          )
        }),
    )

  return {
    async hash(password) {
      const salt = randomBytes(16)
      const key = await derive(password, salt, cost)
      return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64url'), key.toString('base64url')].join('$')
    },
    async matches(password, hash) {
      const [, N, r, p, salt = '', key = ''] = hash?.split('$') ?? []
      const presentedKey = await derive(
        password,
        Buffer.from(salt, 'base64url'),
        hash ? { N: Number(N), r: Number(r), p: Number(p) } : cost,
      )
      const storedKey = Buffer.from(key, 'base64url')
      return storedKey.length === keyBytes && timingSafeEqual(presentedKey, storedKey)
    },
  }
}
