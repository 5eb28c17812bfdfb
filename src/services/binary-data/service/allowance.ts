/** Computes how many bytes an upload may have, and counts the bytes of running uploads. */
import { createHash } from 'node:crypto'
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import type { Tenants } from '../../tenants/contract.ts'
import { QuotaExceeded } from '../errors.ts'
import * as items from '../store/items.ts'

export interface Allowance {
  quota: number
  /** Maximum number of bytes of this upload. If it replaces a content, the bytes of the old content are available too. */
  remaining: number
}

interface Deps {
  db: Db
  tenants: Tenants
  /** The quota of tenants whose package sets none; 0 means no limit. */
  quotaBytes: number
}

export const quotaExceeded = ({ quota }: Allowance) => QuotaExceeded({ quota })

/**
 * Returns the allowance of an upload. Reads the tenant's package each time, so that a new quota applies immediately. `replaced` returns
 * the size of the content that the upload replaces, or 0.
 */
export async function allowanceOf(
  { db, tenants, quotaBytes }: Deps,
  tenantId: string,
  replaced: () => Promise<number>,
): Promise<Allowance> {
  const quota = (await tenants.storageQuota(tenantId)) || quotaBytes || Number.POSITIVE_INFINITY
  if (quota === Number.POSITIVE_INFINITY) return { quota, remaining: quota }
  const [used, replacedBytes] = await Promise.all([items.findUsage(db.sql, tenantId), replaced()])
  // After a change to a smaller package, a tenant can use more than its quota. It may still replace a file with a smaller file.
  return { quota, remaining: Math.max(0, quota - used) + replacedBytes }
}

export interface Tally {
  get(name: string): number
  add(name: string, amount: number): void
}

/** Keeps sums by name. A sum of 0 takes no memory. */
export function createTally(): Tally {
  const sums = new Map<string, number>()
  const sumOf = (name: string) => sums.get(name) ?? 0
  return {
    get: sumOf,
    add(name, amount) {
      const sum = sumOf(name) + amount
      if (sum === 0) sums.delete(name)
      else sums.set(name, sum)
    },
  }
}

const touchMs = 60_000

interface MeasureOptions {
  tenantId: string
  allowance: Allowance
  /** By tenant: the bytes of uploads that are not stored as items yet. */
  bytesByTenant: Tally
  received(bytes: number): void
  /** Called about every minute while content arrives. */
  touch(): Promise<void>
}

/**
 * Returns the same content, which is counted and hashed while it is read. The read throws as soon as all running uploads of the tenant
 * together exceed the allowance.
 */
export function measure(content: AsyncIterable<Uint8Array>, options: MeasureOptions) {
  const { tenantId, allowance, bytesByTenant, received, touch } = options
  const hash = createHash('sha256')
  let size = 0
  async function* measuredContent() {
    let touched = monotonicMs()
    for await (const piece of content) {
      hash.update(piece)
      size += piece.length
      bytesByTenant.add(tenantId, piece.length)
      received(piece.length)
      if (bytesByTenant.get(tenantId) > allowance.remaining) throw quotaExceeded(allowance)
      yield piece
      if (monotonicMs() - touched < touchMs) continue
      touched = monotonicMs()
      await touch()
    }
  }
  return { content: measuredContent(), result: () => ({ size, checksum: hash.digest('hex') }), size: () => size }
}
