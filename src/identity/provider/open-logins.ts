/**
 * Limits the data that unauthenticated clients can store by starting logins: the length of parameters, and the number of unfinished logins.
 */
import { networkOf } from '../../kernel/client-address.ts'
import { monotonicMs } from '../../kernel/clock.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { TooManyOpenLogins, TooManyOpenLoginsHere } from '../errors.ts'
import { countOpenLogins, countOpenLoginsOf } from '../store/artefacts.ts'

/** Maximum lengths of parameters, in characters. Parameters that are not listed may have `otherMax`. */
const lengthMax: Record<string, number> = { redirect_uri: 2048, id_token_hint: 8192, scope: 2048, claims: 2048 }
const otherMax = 1024

/** Returns the name and the limit of the first parameter that is too long in a request that starts a login. */
export function longParameter(query: string, body: Buffer | undefined): { name: string; max: number } | undefined {
  for (const text of [query, body?.toString() ?? ''])
    for (const [name, value] of new URLSearchParams(text)) {
      const max = Object.hasOwn(lengthMax, name) ? lengthMax[name]! : otherMax
      if (value.length > max) return { name: name.slice(0, 100), max }
    }
  return undefined
}

export interface OpenLogins {
  /** Throws 429 or 503 if no further login may be started from this address. Returns the network to store with the login. */
  checkLimits(address: string): Promise<string>
}

const totalKnownMs = 1000

export function createOpenLogins({ db, now, limits }: Pick<Kit, 'db' | 'now' | 'limits'>): OpenLogins {
  const { total, perAddress } = limits.openLogins
  /** The last count of all unfinished logins, and its time. Counting takes milliseconds, so a count is used for a second. */
  let lastCount = { count: 0, at: Number.NEGATIVE_INFINITY }
  return {
    async checkLimits(address) {
      const network = networkOf(address)
      if ((await countOpenLoginsOf(db.sql, network, now(), perAddress)) >= perAddress)
        throw TooManyOpenLoginsHere({}, { headers: { 'retry-after': '60' } })
      if (monotonicMs() - lastCount.at > totalKnownMs)
        lastCount = { count: await countOpenLogins(db.sql, now(), total), at: monotonicMs() }
      if (lastCount.count >= total) throw TooManyOpenLogins({}, { headers: { 'retry-after': '60' } })
      lastCount.count++
      return network
    },
  }
}
