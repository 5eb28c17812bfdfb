/** The key that signs messages between nodes. It is in the database, so all nodes share it. */
import { monotonicMs } from '../clock.ts'
import type { Db } from '../db.ts'
import type { Log } from '../log.ts'
import { signingKeyReadFailed } from './log-messages.ts'

export interface SigningKey {
  /** Reads the key on the first call. */
  load(): Promise<Buffer>
  /** Returns the key that was read last. */
  current(): Buffer
  /** Reads the key again, at most once a second. */
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
      signingKeyReadFailed(log, { err: error })
    }
    return key !== undefined && !known?.equals(key) ? 'replaced' : 'same'
  }

  return {
    async load() {
      key ??= await read()
      return key
    },
    current() {
      if (!key) throw new Error('the signing key of signals is not loaded')
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
