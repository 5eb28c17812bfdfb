/**
 * Buffers that are used again. Memory outside of the heap counts towards the next garbage collection of all objects, so a writer that
 * allocates a buffer for every commit causes such a collection every few seconds.
 */

const smallestBytes = 16 * 1024
const largestBytes = 1024 * 1024
/** Maximum number of spare buffers of each size. */
const sparesMax = 4
const spares = new Map<number, Buffer[]>()

/** Returns a buffer with room for at least this many bytes; their content is arbitrary. */
export function takeBuffer(bytes: number): Buffer {
  if (bytes > largestBytes) return Buffer.allocUnsafeSlow(bytes)
  let size = smallestBytes
  while (size < bytes) size *= 2
  return spares.get(size)?.pop() ?? Buffer.allocUnsafeSlow(size)
}

/** Takes back a buffer of `takeBuffer`, given as a whole or as a part, that nothing reads or writes any more. */
export function returnBuffer(part: Buffer) {
  const buffer = Buffer.from(part.buffer as ArrayBuffer)
  if (buffer.length > largestBytes) return
  const ofSize = spares.get(buffer.length) ?? []
  spares.set(buffer.length, ofSize)
  if (ofSize.length < sparesMax) ofSize.push(buffer)
}
