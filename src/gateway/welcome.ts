/**
 * What waits for an endpoint is sent when it gets a connection. A few at a time: a fleet that comes back after a restart must not
 * take the database from everybody else; and once for an endpoint that hops between connections meanwhile.
 */
import type { Kit } from '../kernel/define-service.ts'
import type { Extension, Push } from '../kernel/device.ts'
import { endpointOf } from './downlink.ts'
import type { Identify } from './identify.ts'
import type { Observation } from './observation.ts'
import type { Presence } from './peers.ts'

export interface Welcome {
  (presence: Presence): void
  /** When those that have come are welcomed. */
  settled(): Promise<void>
}

const atOnce = 8

export function createWelcome(
  log: Kit['log'],
  deps: {
    extensions: () => ReadonlyMap<string, Extension>
    identify: Pick<Identify, 'extensionOf'>
    observation: Pick<Observation, 'of'>
    find(endpointId: string): Presence | undefined
    push(presence: Presence, push: Push): boolean
  },
): Welcome {
  const waiting = new Set<string>()
  const running = new Set<Promise<void>>()

  async function work() {
    for (const endpointId of waiting) {
      waiting.delete(endpointId)
      await greet(endpointId)
    }
  }

  async function greet(endpointId: string) {
    for (const extension of deps.extensions().values()) {
      if (!extension.connected) continue
      const presence = deps.find(endpointId)
      if (!presence) return
      const endpoint = endpointOf(presence)
      try {
        const pushes = await extension.connected(endpoint)
        // Mostly there is nothing, and then nobody has to ask.
        if (pushes.length === 0 || !(await deps.identify.extensionOf(endpoint, extension.name))) continue
        const isObserved = pushes.some(({ name }) => name !== undefined)
          ? await deps.observation.of(endpointId, extension.name)
          : () => true
        for (const push of pushes) {
          if (push.name !== undefined && !isObserved(push.name)) continue
          const current = deps.find(endpointId)
          if (current) deps.push(current, push)
        }
      } catch (error) {
        log.error({ err: error, endpointId, extension: extension.name }, 'what waits for an endpoint could not be sent')
      }
    }
  }

  function welcome({ endpointId }: Presence) {
    waiting.add(endpointId)
    if (running.size >= atOnce) return
    const run = work().finally(() => running.delete(run))
    running.add(run)
  }

  return Object.assign(welcome, {
    async settled() {
      while (running.size > 0) await Promise.all(running)
    },
  })
}
