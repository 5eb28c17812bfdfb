const MiB = 1024 * 1024

/** Reads a stream to its end. A stream that is too large or never ends is rejected before it fills the memory. */
export async function boundedBuffer(
  stream: AsyncIterable<Buffer>,
  bytesMax: number,
  tooLarge: () => Error,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    bytes += chunk.length
    if (bytes > bytesMax) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Returns the text for a limit that was exceeded. */
export const largerThan = (name: string, bytesMax: number) => `${name} is larger than ${bytesMax / MiB} MiB`
