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
  reload(): Promise<'replaced' | 'same' | 'too soon'>
}

const reloadMs = 1000

export function createSigningKey(db: Db, log: Log): SigningKey {
  let key: Buffer | undefined
  let reloading: Promise<'replaced' | 'same'> | undefined
  let reloadedAt = Number.NEGATIVE_INFINITY

  async function read(): Promise<Buffer> {
    const [row] = await db.sql<{ key: Uint8Array }[]>`select key from kernel.signal_key`
    if (!row) throw new Error('kernel.signal_key is empty')
    return Buffer.from(row.key)
  }

  async function reload() {
    const previousKey = key
    reloadedAt = monotonicMs()
    try {
      key = await read()
    } catch (error) {
      signingKeyReadFailed(log, { err: error })
    }
    return key !== undefined && !previousKey?.equals(key) ? 'replaced' : 'same'
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
    async reload() {
      if (!reloading && monotonicMs() - reloadedAt < reloadMs) return 'too soon'
      reloading ??= reload().finally(() => {
        reloading = undefined
      })
      return await reloading
    },
  }
}
