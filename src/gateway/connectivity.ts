/** Collects connects and disconnects of endpoints and reports them in batches (connectivity-report.ts). */
import type { Kit } from '../kernel/define-service.ts'
import type { Extension } from '../kernel/device.ts'
import type { Register } from '../services/register/contract.ts'
import type { Bindings } from './bindings.ts'
import type { Binding, DeviceConnection } from './connection-state.ts'
import { addStep, type Change, mergeChanges, type Step } from './connectivity-changes.ts'
import { type ReportDeps, reportChanges, sweepNode } from './connectivity-report.ts'
import { connectivityNotPublished } from './log-messages.ts'
import { findNodesWithBindings } from './store/bindings.ts'

export interface Connectivity {
  bound(binding: Binding): void
  /** Reports the endpoint as disconnected. `why` is a text for people. */
  unbound(binding: Binding, connection: DeviceConnection, why: string): void
  /** Reports an endpoint as connected and disconnected, because its connection closed before it was identified. */
  transient(binding: Binding, connection: DeviceConnection): void
  /** Reports the present state again, after a reset. */
  reportAgain(bindings: Iterable<Binding>): void
  /** Resolves when everything is reported. */
  stop(): Promise<void>
}

const closedEarly = 'the connection was closed before the endpoint was identified'
const flushMs = 50
const batchMax = 250

export function createConnectivity(
  kit: Pick<Kit, 'db' | 'bus' | 'signals' | 'members' | 'now' | 'log' | 'secrets'>,
  services: {
    register: Pick<Register, 'setConnectivity'>
    extensions: () => ReadonlyMap<string, Extension>
    bindings: () => Pick<Bindings, 'setNumber' | 'removeReplaced'>
  },
): Connectivity {
  const { now, log } = kit
  let changes = new Map<string, Change>()
  let flushing: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let stopping = false
  const deps: ReportDeps = { kit, ...services, runningReports: new Set(), isStopping: () => stopping }

  kit.members.declareOwnedRows({
    name: 'gateway.bindings',
    owners: findNodesWithBindings,
    sweep: (nodeId) => sweepNode(deps, nodeId),
  })

  function addChange(
    binding: Binding,
    connection: DeviceConnection,
    { connected, reason }: Pick<Step, 'connected' | 'reason'>,
    transient = false,
  ) {
    const { endpointId, applicationName, versionName, token, tenant } = binding
    const before = changes.get(endpointId)
    const { client, sessionKey } = connection
    changes.set(endpointId, {
      endpoint: { endpointId, applicationName, versionName, token, tenantId: tenant.tenantId },
      binding,
      sessionKey: client.sessionExpirySeconds > 0 ? sessionKey : undefined,
      steps: addStep(before?.steps ?? [], { connected, at: connected ? new Date(binding.boundAt) : now(), reason }),
      transient: transient && (before?.transient ?? true),
    })
    timer ??= setTimeout(() => void flush(), flushMs)
  }

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    flushing ??= reportAll().finally(() => {
      flushing = undefined
      if (changes.size > 0) timer ??= setTimeout(() => void flush(), flushMs)
    })
    return flushing
  }

  async function reportAll() {
    const all = [...changes.values()]
    changes = new Map()
    for (let from = 0; from < all.length; from += batchMax)
      try {
        await reportChanges(deps, all.slice(from, from + batchMax))
      } catch (error) {
        connectivityNotPublished(log, { err: error })
        for (const change of all.slice(from)) {
          const { endpointId } = change.endpoint
          changes.set(endpointId, mergeChanges(change, changes.get(endpointId)))
        }
        return
      }
  }

  return {
    bound: (binding) => addChange(binding, binding.connection!, { connected: true }),
    unbound: (binding, connection, reason) => addChange(binding, connection, { connected: false, reason }),
    transient(binding, connection) {
      addChange(binding, connection, { connected: true }, true)
      addChange(binding, connection, { connected: false, reason: closedEarly }, true)
    },
    reportAgain(bindings) {
      for (const binding of bindings)
        if (binding.connection) addChange(binding, binding.connection, { connected: true })
    },
    async stop() {
      // Two flushes are needed, because changes may arrive during the first. If endpoints are still unreported after that, other
      // nodes find them in the rows of this node.
      await flush()
      await flush()
      clearTimeout(timer)
      stopping = true
      await Promise.all(deps.runningReports)
    },
  }
}
