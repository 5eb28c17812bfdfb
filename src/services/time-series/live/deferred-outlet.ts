/**
 * Stands in for the outlet of a stream that is not open yet: keeps the listeners until `connect` is called. If the stream ends before
 * `connect`, only the close listeners run.
 */
import type { Outlet } from './subscription.ts'

export function createDeferredOutlet(): Outlet & { connect(outlet: Outlet): void } {
  let [connected, reason]: [Outlet | undefined, string | undefined] = [undefined, undefined]
  const [drained, closed]: [(() => void)[], (() => void)[]] = [[], []]
  return {
    send: (event, data, id) => connected?.send(event, data, id) ?? true,
    onDrain: (listener) => void drained.push(listener),
    onClose: (listener) => void closed.push(listener),
    end(endReason) {
      if (connected) return connected.end(endReason)
      reason = endReason
      for (const listener of closed.splice(0)) listener()
    },
    connect(outlet) {
      connected = outlet
      if (reason !== undefined) return outlet.end(reason)
      outlet.onDrain(() => {
        for (const listener of drained) listener()
      })
      outlet.onClose(() => {
        for (const listener of closed.splice(0)) listener()
      })
    },
  }
}
