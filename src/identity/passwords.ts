/**
 * Hashes passwords of users with scrypt. OWASP recommends several sets of parameters. The platform uses the set that needs the least
 * memory, 16 MiB for each check.
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { networkOf } from '../kernel/client-address.ts'
import { createConcurrencyLimit } from '../kernel/concurrency-limit.ts'
import type { PlatformSettings } from '../kernel/settings.ts'
import { TooManyLogins } from './errors.ts'

export interface Passwords {
  hash(password: string, tenantId?: string): Promise<string>
  /**
   * Compares a password with a hash. For an unknown user (`undefined`), it takes as long as for a known user. Tenants take turns, and so do
   * the addresses of a tenant.
   */
  matches(password: string, hash: string | undefined, tenantId?: string, address?: string): Promise<boolean>
}

const keyBytes = 32
/** Maximum number of concurrent checks. Two leave threads of Node's pool for other work. */
const concurrentMax = 2
/** Maximum number of waiting checks of one tenant, so that there is room for other tenants. */
const queuedPerTenant = 64
const queuedMax = 1024

type Cost = PlatformSettings['passwordCost']['scrypt']

export function createPasswords(cost: Cost): Passwords {
  const limit = createConcurrencyLimit({
    total: concurrentMax,
    waitingPerTenant: queuedPerTenant,
    waitingTotal: queuedMax,
    waitMs: Number.POSITIVE_INFINITY,
    rejection: () => TooManyLogins({}, { headers: { 'retry-after': '2' } }),
  })

  const derive = (tenantId: string, password: string, salt: Buffer, { N, r, p }: Cost, address?: string) =>
    limit.run(
      tenantId,
      () =>
        new Promise<Buffer>((resolve, reject) => {
          // Composed and decomposed accents count as the same character (RFC 8265).
          scrypt(password.normalize('NFC'), salt, keyBytes, { N, r, p, maxmem: 256 * N * r }, (error, key) =>
            error ? reject(error) : resolve(key),
          )
        }),
      undefined,
      address === undefined ? undefined : networkOf(address),
    )

  return {
    async hash(password, tenantId = '') {
      const salt = randomBytes(16)
      const key = await derive(tenantId, password, salt, cost)
      return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64url'), key.toString('base64url')].join('$')
    },
    async matches(password, hash, tenantId = '', address) {
      const [, N, r, p, salt = '', key = ''] = hash?.split('$') ?? []
      const presentedKey = await derive(
        tenantId,
        password,
        Buffer.from(salt, 'base64url'),
        hash ? { N: Number(N), r: Number(r), p: Number(p) } : cost,
        address,
      )
      const storedKey = Buffer.from(key, 'base64url')
      return storedKey.length === keyBytes && timingSafeEqual(presentedKey, storedKey)
    },
  }
}
