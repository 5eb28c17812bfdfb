import type { Readable } from 'node:stream'

const MiB = 1024 * 1024

/** Reads a stream to its end. A stream that is too large or never ends is rejected before it fills the memory. */
export function boundedBuffer(stream: Readable, bytesMax: number, tooLarge: () => Error): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  // The stream is read with events, because the first use of `for await` takes 2 ms.
  return new Promise((resolve, reject) => {
    if (stream.destroyed && !stream.readableEnded) return reject(stream.errored ?? closedEarly())
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bytesMax) stream.destroy(tooLarge())
      else chunks.push(chunk)
    })
    stream.on('end', () => resolve(Buffer.concat(chunks)))
    stream.on('error', reject)
    // If the connection breaks, the stream emits 'close' without 'end'.
    stream.on('close', () => reject(closedEarly()))
  })
}

const closedEarly = () => new Error('the stream was closed before its end')

/** Returns the text for a limit that was exceeded. */
export const largerThan = (name: string, bytesMax: number) => `${name} is larger than ${bytesMax / MiB} MiB`
