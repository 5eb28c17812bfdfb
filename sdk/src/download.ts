/** Streams the bytes of a response. A download that breaks continues where it stopped, unless the content has changed meanwhile. */
import { failureOf } from './failures.ts'
import { endLimit, type Limit, type Running, restartClock, type Send, stopClock } from './running.ts'
import type { Download } from './types.ts'

/** Maximum number of consecutive attempts to resume a download that deliver no byte. */
const resumptionsMax = 5

export function downloadOf(running: Running, response: Response, limit: Limit, sendAgain: Send): Download {
  const etag = response.headers.get('etag')
  // With a weak ETag the download cannot resume, because equal weak ETags do not mean equal bytes.
  const canResume =
    running.operation.headers.includes('range') && response.status === 200 && etag !== null && !etag.startsWith('W/')
  let reader = response.body?.getReader()
  let [received, failures] = [0, 0]
  stopClock(limit)

  async function resume(cause: unknown): Promise<void> {
    failures++
    if (!canResume || failures > resumptionsMax || running.options.signal?.aborted) throw cause
    const { transport, operation, args, options } = running
    const rest = await sendAgain(
      transport,
      operation,
      { ...args, range: `bytes=${received}-`, 'if-range': etag },
      options,
    )
    const body = rest.body as Download
    if (rest.status === 206 && rest.etag === etag) {
      reader = body.getReader()
      return
    }
    await body.cancel()
    throw cause
  }

  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      while (true) {
        try {
          restartClock(limit)
          const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
          stopClock(limit)
          if (done) {
            endLimit(limit)
            return controller.close()
          }
          received += value.byteLength
          failures = 0
          return controller.enqueue(value)
        } catch (cause) {
          endLimit(limit)
          await resume(failureOf(running, limit.controller.signal, cause, 'interrupted'))
        }
      }
    },
    async cancel(reason) {
      endLimit(limit)
      await reader?.cancel(reason)
    },
  })
  return stream
}
