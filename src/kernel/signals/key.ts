/** The key that signs messages between nodes: in the database, the same for all of them. */
import { monotonicMs } from '../clock.ts'
import type { Db } from '../db.ts'
import type { Log } from '../log.ts'

export interface SigningKey {
  /** Read once, then kept. */
  load(): Promise<Buffer>
  /** Of the last `load`. */
  current(): Buffer
  /** Reads it again, at most once a second. */
  renew(): Promise<'replaced' | 'same' | 'too soon'>
}

const renewMs = 1000

export function createSigningKey(db: Db, log: Log): SigningKey {
  let key: Buffer | undefined
  let renewing: Promise<'replaced' | 'same'> | undefined
  let renewedAt = Number.NEGATIVE_INFINITY

  async function read(): Promise<Buffer> {
    const [row] = await db.sql<{ key: Uint8Array }[]>`select key from kernel.signal_key`
    if (!row) throw new Error('kernel.signal_key is empty')
    return Buffer.from(row.key)
  }

  async function renew() {
    const known = key
    renewedAt = monotonicMs()
    try {
      key = await read()
    } catch (error) {
      log.warn({ err: error }, 'reading the key of messages between nodes failed')
    }
    return key !== undefined && !known?.equals(key) ? 'replaced' : 'same'
  }

  return {
    async load() {
      key ??= await read()
      return key
    },
    current() {
      if (!key) throw new Error('the key of messages between nodes is not loaded')
      return key
    },
    async renew() {
      if (!renewing && monotonicMs() - renewedAt < renewMs) return 'too soon'
      renewing ??= renew().finally(() => {
        renewing = undefined
      })
      return await renewing
    },
  }
}
