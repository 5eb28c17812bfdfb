/**
 * Keeps the parts of an engine's memory that the compilation of a script has changed, so that a script that runs often is compiled only
 * once. Each run still starts in a fresh world: the image of the world is written to the memory first, then the kept parts.
 */
import { LRUCache } from 'lru-cache'

/** A piece of memory and its address. */
export interface MemoryPart {
  at: number
  bytes: Uint8Array
}

export interface CompiledScript {
  parts: MemoryPart[]
  /** Pointer to the compiled function. */
  value: number
}

export interface CompiledScripts {
  find(key: string): CompiledScript | undefined
  /**
   * Returns true from the second call for a key, which identifies a script, its world and its tenant. Keeping a script that runs only once
   * would cost more than it saves.
   */
  isRepeated(key: string): boolean
  keep(key: string, script: CompiledScript): void
}

const keptBytes = 8 * 1024 * 1024
const keptBytesOfScript = 1024 * 1024
const seenMax = 2000

export function createCompiledScripts(): CompiledScripts {
  const kept = new LRUCache<string, CompiledScript>({
    maxSize: keptBytes,
    maxEntrySize: keptBytesOfScript,
    sizeCalculation: ({ parts }, key) => key.length * 2 + parts.reduce((sum, { bytes }) => sum + bytes.length + 64, 0),
  })
  const seen = new LRUCache<string, true>({
    max: seenMax,
    maxSize: keptBytes,
    sizeCalculation: (_, key) => key.length * 2,
  })
  return {
    find: (key) => kept.get(key),
    isRepeated(key) {
      const isRepeated = seen.has(key)
      if (!isRepeated) seen.set(key, true)
      return isRepeated
    },
    keep: (key, script) => void kept.set(key, script),
  }
}

const blockBytes = 4096
/**
 * Free memory is filled with this byte before a script is compiled. Every block that the compilation writes is then found, even blocks of
 * zeros.
 */
export const freeByte = 0xa5
const freeBlock = Buffer.alloc(blockBytes, freeByte)

/**
 * Returns the blocks of memory from the address `from` on that differ from the image. The memory between the parts of the image was filled
 * with `freeByte`.
 */
export function changedParts(memory: Uint8Array, image: MemoryPart[], from: number): MemoryPart[] {
  const changed: MemoryPart[] = []
  let next = 0
  for (let at = from; at < memory.length; at += blockBytes) {
    while (next < image.length && image[next]!.at + image[next]!.bytes.length <= at) next++
    const part = image[next]
    const end = Math.min(at + blockBytes, memory.length)
    const before =
      part && part.at <= at ? part.bytes.subarray(at - part.at, end - part.at) : freeBlock.subarray(0, end - at)
    if (Buffer.compare(before, memory.subarray(at, end)) === 0) continue
    const last = changed.at(-1)
    if (last && last.at + last.bytes.length === at) last.bytes = memory.slice(last.at, end)
    else changed.push({ at, bytes: memory.slice(at, end) })
  }
  return changed
}
