/**
 * Receives contents. The order is what keeps the promise: the upload is noted, the content is written and durable, then one
 * transaction makes it an item. Whatever goes wrong leaves the old content or none, and a note of what is to be removed.
 */
import { createHash } from 'node:crypto'
import { type Blobs, newBlobKey } from '../../../kernel/blobs/blobs.ts'
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { TooManyRequests } from '../../../kernel/errors.ts'
import type { Tenants } from '../../tenants/contract.ts'
import { ChecksumMismatch, QuotaExceeded, UploadRefused } from '../errors.ts'
import type { BinaryDataSettings } from '../settings.ts'
import * as items from '../store/items.ts'
import * as store from '../store/uploads.ts'
import type { Leavings } from './leavings.ts'
import type { TokenRules } from './tokens.ts'
import { createTrouble } from './trouble.ts'

export interface Upload {
  token: string | undefined
  kind: items.Kind
  /** A blob's is free text and may be missing; a file's is what it is found by. */
  name: string | undefined
  content: AsyncIterable<Uint8Array>
  /** What the sender says beforehand, where it does. */
  length?: number | undefined
  digest?: { header: string; sha256: string } | undefined
}

export interface UploadRules {
  /** Resolves when the content would survive a power cut, and everybody sees it. */
  receive(upload: Upload): Promise<items.Item>
}

interface Allowance {
  quota: number
  /** Bytes that this upload may have; the content that it replaces makes room. */
  more: number
}

const exceeded = ({ quota }: Allowance) => QuotaExceeded({ quota })

const touchMs = 60_000
const perEndpointMax = 16
const retrySeconds = 5

export function createUploadRules(
  kit: Kit<BinaryDataSettings>,
  deps: { blobs: Blobs; tokens: TokenRules; leavings: Leavings; tenants: Tenants },
): UploadRules {
  const { blobs, tokens, leavings, tenants } = deps
  const { db, now, newId, log, metrics } = kit
  const received = metrics.counter('waypost_binary_data_uploads_total', 'Uploads of endpoints', ['outcome'])
  const receivedBytes = metrics.counter('waypost_binary_data_upload_bytes_total', 'Bytes that endpoints have uploaded')
  const trouble = createTrouble(log)
  const ofEndpoint = createTally()
  /** Bytes that are not items yet: many uploads at once must not pass the quota together. */
  const ofTenant = createTally()

  /** By its package, else by the setting. Asked each time: who has bought more need not wait. */
  async function quotaOf(tenantId: string): Promise<number> {
    const own = await tenants.diskSizeOf(tenantId)
    return own || kit.settings.quotaBytes || Number.POSITIVE_INFINITY
  }

  async function allowanceOf({ kind, name }: Upload, { tenantId, endpointId }: store.TokenRow): Promise<Allowance> {
    const quota = await quotaOf(tenantId)
    if (quota === Number.POSITIVE_INFINITY) return { quota, more: quota }
    const [used, replaced] = await Promise.all([
      items.findUsage(db.sql, tenantId),
      kind === 'file' ? items.findFile(db.sql, endpointId, name!) : undefined,
    ])
    // Who keeps more than a smaller package allows may still make it less.
    return { quota, more: Math.max(0, quota - used) + (replaced?.size ?? 0) }
  }

  /** The content as it passes: counted, hashed, and refused once it is too much. */
  function measure(
    content: AsyncIterable<Uint8Array>,
    tenantId: string,
    allowance: Allowance,
    alive: () => Promise<void>,
  ) {
    const hash = createHash('sha256')
    let size = 0
    async function* pass() {
      let touched = monotonicMs()
      for await (const piece of content) {
        hash.update(piece)
        size += piece.length
        ofTenant.add(tenantId, piece.length)
        receivedBytes.inc(piece.length)
        if (ofTenant.of(tenantId) > allowance.more) throw exceeded(allowance)
        yield piece
        if (monotonicMs() - touched < touchMs) continue
        touched = monotonicMs()
        await alive()
      }
    }
    return { content: pass(), result: () => ({ size, checksum: hash.digest('hex') }), size: () => size }
  }

  /** Undefined: the endpoint has gone, or the upload was taken for dead. */
  async function keep(sql: Sql, fresh: items.Item, allowance: Allowance): Promise<items.Item | undefined> {
    if (!(await store.endUpload(sql, fresh.contentKey))) return undefined
    let item = fresh
    let grown = fresh.size
    if (fresh.kind === 'file') {
      await items.lockFileName(sql, fresh.endpointId, fresh.name)
      const old = await items.findFile(sql, fresh.endpointId, fresh.name)
      if (old) {
        const { contentKey, size, checksum, updatedDate } = fresh
        item = { ...old, contentKey, size, checksum, updatedDate }
        grown -= old.size
        await items.replaceContent(sql, old, { contentKey, size, checksum, updatedDate })
        await leavings.leave(sql, [old.contentKey])
      }
    }
    if (item === fresh) await items.insertItem(sql, fresh)
    const used = await items.addUsage(sql, fresh.tenantId, grown)
    if (used > allowance.quota && grown > 0) throw exceeded(allowance)
    return item
  }

  /** Nothing of it stays; what cannot be removed now is noted or will be missed in an hour. */
  async function discard(contentKey: string) {
    try {
      await db.tx(async (sql) => {
        if (await store.dropUpload(sql, contentKey)) await leavings.leave(sql, [contentKey])
      })
    } catch (error) {
      log.warn({ err: error, contentKey }, 'an interrupted upload is left to the sweep')
    }
  }

  async function take(upload: Upload, token: store.TokenRow, allowance: Allowance): Promise<items.Item> {
    const contentKey = newBlobKey()
    const begun = await store.beginUpload(db.sql, { tokenHash: token.tokenHash, contentKey, at: now() })
    if (!begun) throw UploadRefused()
    const { tenantId, applicationName, endpointId } = token
    const alive = () => store.touchUpload(db.sql, contentKey, now())
    const measured = measure(upload.content, tenantId, allowance, alive)
    try {
      await blobs.write(contentKey, measured.content).catch(trouble)
      const { size, checksum } = measured.result()
      if (upload.digest && upload.digest.sha256 !== checksum) throw ChecksumMismatch({ header: upload.digest.header })
      const id = newId()
      const at = now()
      const dates = { createdDate: at, updatedDate: at }
      const owner = { endpointId, tenantId, applicationName }
      const fresh = { ...owner, id, kind: upload.kind, name: upload.name ?? id, contentKey, size, checksum, ...dates }
      const item = await db.tx((sql) => keep(sql, fresh, allowance))
      if (!item) throw UploadRefused()
      return item
    } catch (error) {
      await discard(contentKey)
      throw error
    } finally {
      ofTenant.add(tenantId, -measured.size())
    }
  }

  return {
    async receive(upload) {
      try {
        const token = await tokens.admit(upload.token)
        const allowance = await allowanceOf(upload, token)
        if ((upload.length ?? 0) + ofTenant.of(token.tenantId) > allowance.more) throw exceeded(allowance)
        if (ofEndpoint.of(token.endpointId) >= perEndpointMax)
          throw TooManyRequests({ seconds: retrySeconds }, { headers: { 'retry-after': String(retrySeconds) } })
        ofEndpoint.add(token.endpointId, 1)
        try {
          const item = await take(upload, token, allowance)
          received.inc({ outcome: 'success' })
          return item
        } finally {
          ofEndpoint.add(token.endpointId, -1)
        }
      } catch (error) {
        received.inc({ outcome: 'failure' })
        throw error
      }
    },
  }
}

/** Sums by name; what is back at nothing is forgotten. */
function createTally() {
  const sums = new Map<string, number>()
  const of = (name: string) => sums.get(name) ?? 0
  return {
    of,
    add(name: string, amount: number) {
      const sum = of(name) + amount
      if (sum === 0) sums.delete(name)
      else sums.set(name, sum)
    },
  }
}
