/** Reads the first bytes of a file, so that a page can show the kind of the file. */
import type { Arguments } from '../../../sdk/src/types.ts'
import type { Problem } from '../parts/problem.ts'
import { useSession } from './client.ts'
import { problemOf } from './problems.ts'

/** Returns a function that reads at most the first `max` bytes that an operation returns. The operation must support range requests. */
export function useFirstBytes(): (
  name: string,
  args: object,
  max: number,
) => Promise<{ bytes: Uint8Array<ArrayBuffer> } | { problem: Problem }> {
  const { client } = useSession()
  return async (name, args, max) => {
    try {
      const { body } = await client.call(name, { ...args, range: `bytes=0-${max - 1}` } as Arguments)
      const stream = body as unknown as ReadableStream<Uint8Array<ArrayBuffer>>
      return { bytes: new Uint8Array(await new Response(stream).arrayBuffer()) }
    } catch (error) {
      return { problem: problemOf(error) }
    }
  }
}
