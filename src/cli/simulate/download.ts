/** Downloads a software file as a device does: without keeping it, and with `Range` requests after a broken connection. */
import { createHash } from 'node:crypto'

const attemptsMax = 5

/** Rejects if the file cannot be downloaded or does not match the digest that the platform sent. */
export async function download(link: string, signal: AbortSignal): Promise<void> {
  const hash = createHash('sha256')
  let received = 0
  for (let attempt = 1; ; attempt++) {
    const headers: Record<string, string> = received > 0 ? { range: `bytes=${received}-` } : {}
    const response = await fetch(link, { headers, signal })
    if (!response.ok || !response.body || (received > 0 && response.status !== 206)) {
      await response.body?.cancel()
      throw new Error(`the download was answered with ${response.status}`)
    }
    try {
      for await (const bytes of response.body) {
        hash.update(bytes)
        received += bytes.length
      }
    } catch (error) {
      if (signal.aborted || attempt === attemptsMax) throw error
      continue
    }
    const expected = response.headers.get('repr-digest')
    const digest = `sha-256=:${hash.digest('base64')}:`
    if (expected !== null && expected !== digest) throw new Error('the download does not match its digest')
    return
  }
}
