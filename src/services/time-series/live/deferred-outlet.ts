/**
 * Stands in for an outlet whose connection is not open yet: keeps the listeners until `connect`. If it is ended before,
 * only the close listeners run.
 */
import type { Outlet } from './subscription.ts'

export function createDeferredOutlet(): Outlet & { connect(outlet: Outlet): void } {
  let [real, reason]: [Outlet | undefined, string | undefined] = [undefined, undefined]
  const [drained, closed]: [(() => void)[], (() => void)[]] = [[], []]
  return {
    say: (event, data, id) => real?.say(event, data, id) ?? true,
    onDrain: (listener) => void drained.push(listener),
    onClose: (listener) => void closed.push(listener),
    end(given) {
      if (real) return real.end(given)
      reason = given
      for (const listener of closed.splice(0)) listener()
    },
    connect(outlet) {
      real = outlet
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
