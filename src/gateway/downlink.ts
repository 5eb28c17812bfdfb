/**
 * What the platform says of its own accord. One copy, to the connection that represents the endpoint, whether or not it has
 * subscribed: most devices never do. A client that is away gets it later when its session is kept and asks for it.
 */
import type { Kit } from '../kernel/define-service.ts'
import type { DeviceEndpoint, Push } from '../kernel/device.ts'
import type { Tokens } from '../services/tokens/contract.ts'
import type { TrafficLog } from '../services/traffic-log/contract.ts'
import type { Bindings } from './bindings.ts'
import type { Delivery } from './contract.ts'
import { correlations, payloadOf } from './dispatch.ts'
import { createForwards } from './forwards.ts'
import type { Identify } from './identify.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { Qos, Sessions } from './mqtt/host.ts'
import type { Observation } from './observation.ts'
import type { Presence } from './peers.ts'
import * as store from './store/bindings.ts'
import type { Tenants } from './tenants.ts'
import { covers } from './topic.ts'

export interface Downlink {
  send(endpointId: string, push: Push): Promise<Delivery>
  /** To an endpoint that is connected here; false: its connection takes no more. */
  push(presence: Presence, push: Push): boolean
}

/** One that moves faster than this is nowhere. */
const hopsMax = 3

export function createDownlink(
  kit: Pick<Kit, 'db' | 'bus' | 'secrets' | 'now' | 'newId' | 'log'> & { nodeId: string },
  deps: {
    bindings: Bindings
    identify: Identify
    tenants: Tenants
    tokens: Pick<Tokens, 'validate'>
    trafficLog: Pick<TrafficLog, 'record'>
    metrics: GatewayMetrics
    sessions: () => Sessions | undefined
    observation: Pick<Observation, 'of'>
  },
): Downlink {
  const { db, secrets, now, log, nodeId } = kit
  const { bindings, identify, tenants, tokens, trafficLog, metrics } = deps
  const correlate = correlations(kit.newId)

  function record(endpoint: DeviceEndpoint, { extension, resourcePath }: Push, payload: Buffer, how: Delivery) {
    metrics.pushed(extension)
    // Nobody waits for it: what the log could not keep it says itself.
    void trafficLog.record({
      ...endpoint,
      correlationId: correlate(),
      direction: 'OUTBOUND',
      extension,
      resourcePath,
      payload,
      additionalMetadata: { delivery: how },
      createdAt: now(),
    })
  }

  function push(presence: Presence, what: Push): boolean {
    const { connection, versionName, token, endpointTokenId: about } = presence
    if (!connection?.open) return false
    const topic = topicOf({ versionName, token }, what)
    const payload = payloadOf(what.payload)
    if (!connection.send({ topic, payload, qos: qosFor(connection.state.subscriptions, topic), about })) return false
    record(endpointOf(presence), what, payload, 'sent')
    return true
  }

  const isObserved = async (endpointId: string, { extension, name }: Push) =>
    name === undefined || (await deps.observation.of(endpointId, extension))(name)

  const mayUse = async (endpoint: DeviceEndpoint, { extension }: Push) =>
    (await identify.extensionOf(endpoint, extension)) !== undefined

  /** Into the session of a client that is away. */
  async function queue(
    row: store.BindingRow & { sessionKey: string; tokenSealed: string },
    what: Push,
  ): Promise<Delivery> {
    const { endpointId, tenantId, applicationName, versionName, sessionKey } = row
    const token = secrets.open(row.tokenSealed)
    const [valid, tenant] = await Promise.all([tokens.validate({ token, versionName }), tenants.get(tenantId)])
    if (valid?.endpointId !== endpointId || !tenant?.available) return 'offline'
    const endpoint = { endpointId, tenantId, applicationName, versionName }
    if (!(await mayUse(endpoint, what))) return 'offline'
    const payload = payloadOf(what.payload)
    const topic = topicOf({ versionName, token }, what)
    const outcome = await deps.sessions()?.deliver(sessionKey, { topic, payload, qos: 1, about: valid.endpointTokenId })
    if (outcome !== 'sent' && outcome !== 'queued') return 'offline'
    record(endpoint, what, payload, outcome)
    return outcome
  }

  const forwards = createForwards(kit, ({ endpointId, push: what, hops }) => {
    const presence = bindings.find(endpointId)
    if (presence) push(presence, what)
    // It has left since: to where it is now, or into its session.
    else if (hops < hopsMax)
      away(endpointId, what, hops + 1).catch((error) =>
        log.error({ err: error, endpointId }, 'what another process had for an endpoint that has left was lost'),
      )
  })

  async function away(endpointId: string, what: Push, hops = 0): Promise<Delivery> {
    const row = await store.findBinding(db.sql, endpointId)
    if (!row) return 'offline'
    if (row.nodeId !== null && row.nodeId !== nodeId) {
      await forwards.send(row.nodeId, { tenantId: row.tenantId, endpointId, push: what, hops })
      return 'sent'
    }
    const { sessionKey, tokenSealed } = row
    if (sessionKey === null || tokenSealed === null) return 'offline'
    return queue({ ...row, sessionKey, tokenSealed }, what)
  }

  return {
    push,
    async send(endpointId, what) {
      if (!(await isObserved(endpointId, what))) return 'offline'
      const presence = bindings.find(endpointId)
      if (presence) {
        if (!(await mayUse(endpointOf(presence), what))) return 'offline'
        return push(presence, what) ? 'sent' : 'offline'
      }
      return away(endpointId, what)
    },
  }
}

const topicOf = ({ versionName, token }: { versionName: string; token: string }, { extension, resourcePath }: Push) =>
  `kp1/${versionName}/${extension}/${token}${resourcePath}/status`

export const endpointOf = ({ tenant, applicationName, versionName, endpointId }: Presence): DeviceEndpoint => ({
  tenantId: tenant.tenantId,
  applicationName,
  versionName,
  endpointId,
})

/** As the best of the subscriptions that ask for it; without any, once is what is promised. */
function qosFor(subscriptions: ReadonlyMap<string, Qos> | undefined, topic: string): Qos {
  if (subscriptions) for (const [filter, qos] of subscriptions) if (qos > 0 && covers(filter, topic)) return qos
  return 0
}
