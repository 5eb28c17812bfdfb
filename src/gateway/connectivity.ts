/** Collects who connects and disconnects, and reports it by the batch (connectivity-report.ts). */
import type { Kit } from '../kernel/define-service.ts'
import type { Extension } from '../kernel/device.ts'
import type { Register } from '../services/register/contract.ts'
import type { Bindings } from './bindings.ts'
import { type Change, merged, stepped } from './connectivity-changes.ts'
import { type ReportDeps, report, sweepNode } from './connectivity-report.ts'
import type { Device, Presence } from './peers.ts'
import { findNodesWithBindings } from './store/bindings.ts'

export interface Connectivity {
  bound(presence: Presence): void
  unbound(presence: Presence, connection: Device): void
  /** It came and went: when it was known who it is, its connection had ended. */
  visited(presence: Presence, connection: Device): void
  /** Reports the present state again, after a reset. */
  again(presences: Iterable<Presence>): void
  /** Resolves when everything is reported. */
  stop(): Promise<void>
}

const flushMs = 50
const atOnce = 250

export function createConnectivity(
  kit: Pick<Kit, 'db' | 'bus' | 'signals' | 'members' | 'now' | 'log' | 'secrets'>,
  given: {
    register: Pick<Register, 'setConnectivity'>
    extensions: () => ReadonlyMap<string, Extension>
    bindings: () => Pick<Bindings, 'numbered' | 'lost'>
  },
): Connectivity {
  const { now, log } = kit
  let changes = new Map<string, Change>()
  let flushing: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let stopping = false
  const deps: ReportDeps = { kit, ...given, informing: new Set(), isStopping: () => stopping }

  kit.members.leftovers({
    name: 'gateway.bindings',
    owners: findNodesWithBindings,
    sweep: (nodeId) => sweepNode(deps, nodeId),
  })

  function note(presence: Presence, connection: Device, connected: boolean, visit = false) {
    const { endpointId, applicationName, versionName, token, tenant } = presence
    const before = changes.get(endpointId)
    const { client, sessionKey } = connection
    changes.set(endpointId, {
      of: { endpointId, applicationName, versionName, token, tenantId: tenant.tenantId },
      presence,
      sessionKey: client.sessionExpirySeconds > 0 ? sessionKey : undefined,
      steps: stepped(before?.steps ?? [], { connected, at: connected ? new Date(presence.boundAt) : now() }),
      visit: visit && (before?.visit ?? true),
    })
    timer ??= setTimeout(() => void flush(), flushMs)
  }

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    flushing ??= work().finally(() => {
      flushing = undefined
      if (changes.size > 0) timer ??= setTimeout(() => void flush(), flushMs)
    })
    return flushing
  }

  async function work() {
    const all = [...changes.values()]
    changes = new Map()
    for (let from = 0; from < all.length; from += atOnce)
      try {
        await report(deps, all.slice(from, from + atOnce))
      } catch (error) {
        log.error({ err: error }, 'publishing endpoint connectivity failed; retrying')
        for (const change of all.slice(from)) {
          const { endpointId } = change.of
          changes.set(endpointId, merged(change, changes.get(endpointId)))
        }
        return
      }
  }

  return {
    bound: (presence) => note(presence, presence.connection!, true),
    unbound: (presence, connection) => note(presence, connection, false),
    visited(presence, connection) {
      note(presence, connection, true, true)
      note(presence, connection, false, true)
    },
    again(presences) {
      for (const presence of presences) if (presence.connection) note(presence, presence.connection, true)
    },
    async stop() {
      // Twice: changes came during the first one. What cannot be reported now is found by its rows.
      await flush()
      await flush()
      clearTimeout(timer)
      stopping = true
      await Promise.all(deps.informing)
    },
  }
}
