/**
 * Packs records. Few records are packed directly; many are packed in a thread, so that devices do not wait. The thread ends when it is
 * idle.
 */
import { Worker } from 'node:worker_threads'
import { type PackResult, type PackSource, packRecords } from './pack-records.ts'

export interface PackThread {
  pack(sources: PackSource[], records: number): Promise<PackResult>
  stop(): Promise<void>
}

/** Maximum number of records that are packed without a thread. */
const inlineMax = 512
const idleMs = 30_000

interface Answer {
  id: number
  result?: PackResult
  problem?: string
}

export function createPackThread(): PackThread {
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let calls = 0
  const waiting = new Map<number, { resolve(result: PackResult): void; reject(error: unknown): void }>()

  function end() {
    clearTimeout(idle)
    const ended = worker?.terminate()
    worker = undefined
    return ended
  }

  function start(): Worker {
    const started = new Worker(new URL('./thread.ts', import.meta.url))
    const fail = (error: unknown) => {
      if (worker === started) worker = undefined
      for (const { reject } of waiting.values()) reject(error)
      waiting.clear()
    }
    started.on('message', ({ id, result, problem }: Answer) => {
      const call = waiting.get(id)
      waiting.delete(id)
      if (result) call?.resolve(result)
      else call?.reject(new Error(`packing records of the traffic log failed: ${problem}`))
    })
    started.on('error', fail)
    started.on('exit', () => fail(new Error('the thread that packs records has ended')))
    started.unref()
    return started
  }

  return {
    pack(sources, records) {
      if (records <= inlineMax) return Promise.try(() => packRecords(sources))
      worker ??= start()
      clearTimeout(idle)
      idle = setTimeout(() => void end(), idleMs).unref()
      const id = ++calls
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        const copies = sources.map((source) => ({ ...source, data: Uint8Array.from(source.data) }))
        worker!.postMessage(
          { id, sources: copies },
          copies.map(({ data }) => data.buffer),
        )
      })
    },
    async stop() {
      await end()
    },
  }
}
