/** An outlet that exists before its connection: keeps listeners until then. Ended before, it only calls those for the end. */
import type { Outlet } from './subscription.ts'

export function createLateOutlet(): Outlet & { becomes(outlet: Outlet): void } {
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
    becomes(outlet) {
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
