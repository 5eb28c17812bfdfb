/**
 * Pushes: what the platform sends of its own accord. One copy goes to the connection that represents the endpoint, whether or not it
 * has subscribed, because most devices never do; on another node by a signal. A client that is away gets it later when its
 * session is kept and subscribed to it. Who sent the push learns what became of it.
 */
import { LRUCache } from 'lru-cache'
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { DeviceEndpoint, Push } from '../kernel/device.ts'
import { gather } from '../kernel/gather.ts'
import type { Tokens } from '../services/tokens/contract.ts'
import type { TrafficLog } from '../services/traffic-log/contract.ts'
import type { Bindings } from './bindings.ts'
import type { Delivery, Gateway } from './contract.ts'
import { correlations, payloadOf } from './dispatch.ts'
import type { Identify } from './identify.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { Message, Qos, Sessions } from './mqtt/host.ts'
import type { Observation } from './observation.ts'
import type { Presence } from './peers.ts'
import { createPushOutcomes, type PushOutcomes } from './push-outcomes.ts'
import { PushForwarded, PushSettled } from './signals.ts'
import * as store from './store/bindings.ts'
import type { Tenants } from './tenants.ts'
import { covers } from './topic.ts'

export interface Downlink {
  send: Gateway['send']
  /** To an endpoint that is connected here; false: its connection takes no more. */
  push(presence: Presence, push: Push): boolean
}

export interface DownlinkDeps {
  kit: Pick<Kit, 'db' | 'signals' | 'members' | 'secrets' | 'now' | 'newId' | 'log'>
  bindings: Pick<Bindings, 'find'>
  identify: Pick<Identify, 'extensionOf'>
  tenants: Pick<Tenants, 'get'>
  tokens: Pick<Tokens, 'validate'>
  trafficLog: Pick<TrafficLog, 'record'>
  metrics: Pick<GatewayMetrics, 'pushed'>
  observation: Pick<Observation, 'of'>
  sessions: () => Sessions | undefined
  /** Into the queue of a session, in the caller's transaction. */
  enqueue(sql: Sql, sessionKey: string, message: Message): Promise<'queued' | 'full' | 'gone'>
}

/** A push under way. */
interface Parcel {
  id: string
  endpointId: string
  what: Push
  /** The node that waits for the outcome. */
  sender: string
  /** Nodes that had it before. */
  hops: number
}

type Settle = (delivery: Delivery) => void

/** A push that moves from node to node more often is dropped: its endpoint roams faster than pushes do. */
const hopsMax = 3
const lookupsAtOnce = 500
/** Signals come at least once: a push that comes again within this time is ignored. */
const seenMs = 120_000
const seenMax = 50_000

interface Parts extends DownlinkDeps {
  outcomes: PushOutcomes
  correlate(): string
  findBinding(endpointId: string): Promise<store.BindingRow | undefined>
}

export function createDownlink(deps: DownlinkDeps): Downlink {
  const { db, signals, members, secrets, newId, log } = deps.kit
  const { nodeId } = members
  const seen = new LRUCache<string, true>({ max: seenMax, ttl: seenMs })
  const outcomes = createPushOutcomes()
  const findBinding = gather<string, store.BindingRow>(async (endpointIds) => {
    const rows = await store.findBindings(db.sql, endpointIds)
    const found = new Map(rows.map((row) => [row.endpointId, row]))
    return endpointIds.map((endpointId) => found.get(endpointId))
  }, lookupsAtOnce)
  const parts: Parts = { ...deps, outcomes, correlate: correlations(newId), findBinding }

  signals.on(PushSettled, ({ id, delivery }) => outcomes.settle(id, delivery))
  signals.on(PushForwarded, async ({ sealed, push: plain, ...forwarded }) => {
    const { id, endpointId, hops } = forwarded
    const key = `${id} ${hops}`
    if (seen.has(key)) return
    seen.set(key, true)
    const parcel = { ...forwarded, what: plain ?? (JSON.parse(secrets.open(sealed!)) as Push) }
    const settle = settlerOf(parts, parcel)
    const presence = deps.bindings.find(endpointId)
    if (presence) return void (push(parts, presence, parcel.what, settle) || settle('offline'))
    if (hops >= hopsMax) return settle('offline')
    // The endpoint has left since: the push follows it.
    await away(parts, db.sql, { ...parcel, hops: hops + 1 }).catch((error) => {
      log.error({ err: error, endpointId }, 'a forwarded push was lost')
      settle('offline')
    })
  })

  return {
    push: (presence, what) => push(parts, presence, what),
    async send(sql, endpointId, what) {
      const parcel: Parcel = { id: newId(), endpointId, what, sender: nodeId, hops: 0 }
      const delivery = outcomes.expect(parcel.id)
      const settle = settlerOf(parts, parcel)
      if (!(await isObserved(parts, endpointId, what))) {
        settle('offline')
        return { delivery }
      }
      const presence = deps.bindings.find(endpointId)
      if (!presence) await away(parts, sql, parcel)
      else if (!(await mayUse(parts, endpointOf(presence), what))) settle('offline')
      else atCommit(parts, sql, () => here(parts, parcel, settle))
      return { delivery }
    },
  }
}

/** Runs at once, or with the commit of a transaction. */
function atCommit({ kit: { db } }: Parts, sql: Sql, effect: () => void) {
  if (sql === db.sql) effect()
  else db.afterCommit(sql, effect)
}

/** To the connection on this node; where it has gone since, after it. */
function here(parts: Parts, parcel: Parcel, settle: Settle) {
  const { kit, bindings } = parts
  const presence = bindings.find(parcel.endpointId)
  if (presence) return void (push(parts, presence, parcel.what, settle) || settle('offline'))
  away(parts, kit.db.sql, parcel).catch((error) => {
    kit.log.error({ err: error, endpointId: parcel.endpointId }, 'a push was lost: its endpoint could not be looked up')
    settle('offline')
  })
}

const settlerOf =
  ({ kit: { signals, members }, outcomes }: Parts, { id, sender }: Parcel): Settle =>
  (delivery) => {
    if (sender === members.nodeId) outcomes.settle(id, delivery)
    else void signals.sendNow(`node/${sender}`, PushSettled, { id, delivery })
  }

const deliveries = { delivered: 'delivered', kept: 'queued', lost: 'offline' } as const

function push(parts: Parts, presence: Presence, what: Push, settle?: Settle): boolean {
  const { connection, versionName, token, endpointTokenId: about } = presence
  if (!connection?.open) return false
  const topic = topicOf({ versionName, token }, what)
  const payload = payloadOf(what.payload)
  const message = { topic, payload, qos: qosFor(connection.state.subscriptions, topic), about }
  if (!connection.send(message, settle && ((outcome) => settle(deliveries[outcome])))) return false
  record(parts, endpointOf(presence), what, payload, 'sent')
  return true
}

function record(parts: Parts, endpoint: DeviceEndpoint, what: Push, payload: Buffer, delivery: 'sent' | 'queued') {
  const { extension, resourcePath } = what
  parts.metrics.pushed(extension)
  // Nobody waits for the record: the traffic log reports itself what it could not keep.
  void parts.trafficLog.record({
    ...endpoint,
    correlationId: parts.correlate(),
    direction: 'OUTBOUND',
    extension,
    resourcePath,
    payload,
    additionalMetadata: { delivery },
    createdAt: parts.kit.now(),
  })
}

const isObserved = async ({ observation }: Parts, endpointId: string, { extension, name }: Push) =>
  name === undefined || (await observation.of(endpointId, extension))(name)

const mayUse = async ({ identify }: Parts, endpoint: DeviceEndpoint, { extension }: Push) =>
  (await identify.extensionOf(endpoint, extension)) !== undefined

/** To the node that has the connection by the database, or into the session of a client that is away. */
async function away(parts: Parts, sql: Sql, parcel: Parcel) {
  const { kit, findBinding } = parts
  const { endpointId, id, what, sender, hops } = parcel
  const settle = settlerOf(parts, parcel)
  const row = sql === kit.db.sql ? await findBinding(endpointId) : (await store.findBindings(sql, [endpointId]))[0]
  if (!row) return atCommit(parts, sql, () => settle('offline'))
  const { nodeId, sessionKey, tokenSealed } = row
  if (nodeId !== null && nodeId !== kit.members.nodeId && kit.members.isAlive(nodeId)) {
    if (!(await mayUse(parts, row, what))) return atCommit(parts, sql, () => settle('offline'))
    const forwarded = { id, endpointId, sender, hops }
    if (sql !== kit.db.sql) {
      const sealed = kit.secrets.seal(JSON.stringify(what))
      await kit.signals.send(sql, `node/${nodeId}`, PushForwarded, { ...forwarded, sealed })
    } else if (!(await kit.signals.sendNow(`node/${nodeId}`, PushForwarded, { ...forwarded, push: what })))
      settle('offline')
  } else if (sessionKey === null || tokenSealed === null) atCommit(parts, sql, () => settle('offline'))
  else await queue(parts, sql, { ...row, sessionKey, tokenSealed }, what, settle)
}

async function queue(
  parts: Parts,
  sql: Sql,
  row: store.BindingRow & { sessionKey: string; tokenSealed: string },
  what: Push,
  settle: Settle,
) {
  const { kit, tokens, tenants } = parts
  const { endpointId, tenantId, applicationName, versionName, sessionKey } = row
  const endpoint = { endpointId, tenantId, applicationName, versionName }
  const token = kit.secrets.open(row.tokenSealed)
  const [valid, tenant] = await Promise.all([tokens.validate({ token, versionName }), tenants.get(tenantId)])
  const isValid = valid?.endpointId === endpointId && tenant?.available && (await mayUse(parts, endpoint, what))
  if (!isValid) return atCommit(parts, sql, () => settle('offline'))
  const payload = payloadOf(what.payload)
  const topic = topicOf({ versionName, token }, what)
  const message: Message = { topic, payload, qos: 1, about: valid.endpointTokenId }
  if (sql !== kit.db.sql) {
    const outcome = await parts.enqueue(sql, sessionKey, message)
    kit.db.afterCommit(sql, () => {
      if (outcome !== 'queued') return settle('offline')
      record(parts, endpoint, what, payload, 'queued')
      settle('queued')
      // Its client may be connected here, and gets the message once it has presented the token.
      void parts.sessions()?.fetch([sessionKey])
    })
    return
  }
  const settled: Parameters<Sessions['deliver']>[2] = (outcome) => settle(deliveries[outcome])
  const outcome = await parts.sessions()?.deliver(sessionKey, message, settled)
  if (outcome === 'sent' || outcome === 'queued') record(parts, endpoint, what, payload, outcome)
  if (outcome !== 'sent') settle(outcome === 'queued' ? 'queued' : 'offline')
}

const topicOf = ({ versionName, token }: { versionName: string; token: string }, { extension, resourcePath }: Push) =>
  `kp1/${versionName}/${extension}/${token}${resourcePath}/status`

export const endpointOf = ({ tenant, applicationName, versionName, endpointId }: Presence): DeviceEndpoint => ({
  tenantId: tenant.tenantId,
  applicationName,
  versionName,
  endpointId,
})

/** The best QoS of the subscriptions that match; 0 without any. */
function qosFor(subscriptions: ReadonlyMap<string, Qos> | undefined, topic: string): Qos {
  if (subscriptions) for (const [filter, qos] of subscriptions) if (qos > 0 && covers(filter, topic)) return qos
  return 0
}
