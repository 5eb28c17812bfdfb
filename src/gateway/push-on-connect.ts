/**
 * Collects pushes from the extensions when an endpoint connects, and sends them. Only a few endpoints are processed at a time, so that a
 * reconnecting fleet does not occupy the database. An endpoint that changes its connection while it is queued is processed once.
 */
import type { Kit } from '../kernel/define-service.ts'
import type { Extension } from '../kernel/device.ts'
import type { Binding } from './connection-state.ts'
import { type Downlink, endpointOf } from './downlink.ts'
import type { Identify } from './identify.ts'
import { pushOnConnectFailed } from './log-messages.ts'
import type { Observation } from './observation.ts'

export interface PushOnConnect {
  (binding: Binding): void
  /** Resolves when the queue is empty. */
  settled(): Promise<void>
}

const concurrentMax = 8

export function createPushOnConnect(
  log: Kit['log'],
  deps: {
    extensions: () => ReadonlyMap<string, Extension>
    identify: Pick<Identify, 'extensionOf'>
    observation: Pick<Observation, 'observes'>
    find(endpointId: string): Binding | undefined
    push: Downlink['push']
    notSent: Downlink['notSent']
  },
): PushOnConnect {
  const waiting = new Set<string>()
  const running = new Set<Promise<void>>()

  async function drainQueue() {
    for (const endpointId of waiting) {
      waiting.delete(endpointId)
      await sendPushes(endpointId)
    }
  }

  async function sendPushes(endpointId: string) {
    for (const extension of deps.extensions().values()) {
      if (!extension.connected) continue
      const binding = deps.find(endpointId)
      if (!binding) return
      const endpoint = endpointOf(binding)
      try {
        const pushes = await extension.connected(endpoint)
        // Most endpoints have no pushes, so permissions and observations are checked only for endpoints with pushes.
        if (pushes.length === 0 || !(await deps.identify.extensionOf(endpoint, extension.name))) continue
        const isObserved = pushes.some(({ name }) => name !== undefined)
          ? await deps.observation.observes(endpointId, extension.name)
          : () => true
        for (const push of pushes) {
          const current = deps.find(endpointId)
          if (push.name !== undefined && !isObserved(push.name)) deps.notSent(endpointId, push, 'not_observed')
          else if (!current) deps.notSent(endpointId, push, 'not_connected')
          else {
            const reason = deps.push(current, push)
            if (reason) deps.notSent(endpointId, push, reason)
          }
        }
      } catch (error) {
        pushOnConnectFailed(log, { err: error, endpointId, extension: extension.name })
      }
    }
  }

  function pushOnConnect({ endpointId }: Binding) {
    waiting.add(endpointId)
    if (running.size >= concurrentMax) return
    const run = drainQueue().finally(() => running.delete(run))
    running.add(run)
  }

  return Object.assign(pushOnConnect, {
    async settled() {
      while (running.size > 0) await Promise.all(running)
    },
  })
}
