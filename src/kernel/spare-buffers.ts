/**
 * Reuses buffers. Memory outside of the heap counts towards the next full garbage collection. A writer that allocates a buffer for every
 * commit would cause such a collection every few seconds.
 */

const smallestBytes = 16 * 1024
const largestBytes = 1024 * 1024
/** Maximum number of spare buffers of each size. */
const sparesMax = 4
const spares = new Map<number, Buffer[]>()

/** Returns a buffer of at least this many bytes. Its content is arbitrary. */
export function takeBuffer(bytes: number): Buffer {
  if (bytes > largestBytes) return Buffer.allocUnsafeSlow(bytes)
  let size = smallestBytes
  while (size < bytes) size *= 2
  return spares.get(size)?.pop() ?? Buffer.allocUnsafeSlow(size)
}

/** Takes back a buffer that `takeBuffer` returned, or a part of it. Nothing may read or write the buffer any more. */
export function returnBuffer(part: Buffer) {
  const buffer = Buffer.from(part.buffer as ArrayBuffer)
  if (buffer.length > largestBytes) return
  const ofSize = spares.get(buffer.length) ?? []
  spares.set(buffer.length, ofSize)
  if (ofSize.length < sparesMax) ofSize.push(buffer)
}
