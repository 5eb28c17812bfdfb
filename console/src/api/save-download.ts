/** Downloads bytes of an operation as a file of the browser. */
import type { Arguments } from '../../../sdk/src/types.ts'
import type { Problem } from '../parts/problem.ts'
import { useSession } from './client.ts'
import { problemOf } from './problems.ts'

/** Maximum size of a download. A larger download would not fit into the memory of a page. */
const bytesMax = 200 * 1024 * 1024

/** Returns a function that saves the response of an operation as a file. If the download fails, the function returns the problem. */
export function useSaveDownload(): (
  name: string,
  args: object,
  fileName: string,
) => Promise<Problem | 'too-large' | undefined> {
  const { client } = useSession()
  return async (name, args, fileName) => {
    try {
      const { body } = await client.call(name, args as Arguments)
      const parts: BlobPart[] = []
      let size = 0
      for await (const part of body as unknown as AsyncIterable<Uint8Array<ArrayBuffer>>) {
        size += part.byteLength
        if (size > bytesMax) return 'too-large'
        parts.push(part)
      }
      save(new Blob(parts), fileName)
      return undefined
    } catch (error) {
      return problemOf(error)
    }
  }
}

function save(blob: Blob, fileName: string) {
  const address = URL.createObjectURL(blob)
  const anchor = document.createElement('a')
  anchor.href = address
  anchor.download = fileName.split('/').at(-1) || 'file'
  anchor.click()
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}
