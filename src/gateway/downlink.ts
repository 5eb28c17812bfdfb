/**
 * Sends a push to the connection that represents the endpoint, to another node with a signal, or into the session of a disconnected client.
 * A connection gets pushes even without a subscription, because most devices never subscribe. The sender gets the outcome.
 */
import { LRUCache } from 'lru-cache'
import { createBatcher } from '../kernel/batcher.ts'
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { DeviceEndpoint, Extension, Push } from '../kernel/device.ts'
import type { Tokens } from '../services/tokens/contract.ts'
import type { TrafficLog } from '../services/traffic-log/contract.ts'
import type { Bindings } from './bindings.ts'
import type { Binding } from './connection-state.ts'
import type { Delivery, Gateway, NotSentReason } from './contract.ts'
import { createCorrelationIds, payloadOf } from './dispatch.ts'
import { pushQos, withIdentifiers } from './host/subscribed.ts'
import type { Identify } from './identify.ts'
import { forwardedPushLost, pushLost } from './log-messages.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { Message, Sessions } from './mqtt/host.ts'
import type { Observation } from './observation.ts'
import { createPushOutcomes, type PushOutcomes } from './push-outcomes.ts'
import { PushForwarded, PushSettled } from './signals.ts'
import * as store from './store/bindings.ts'
import type { Tenants } from './tenants.ts'

export interface Downlink {
  send: Gateway['send']
  sendHere: Gateway['sendHere']
  nodesOf: Gateway['nodesOf']
  /** Sends to an endpoint that is connected to this node. If that is not possible, returns the reason. */
  push(binding: Binding, push: Push): NotSentReason | undefined
  /** Counts and logs a push that no device got. */
  notSent(endpointId: string, push: Push, reason: NotSentReason): void
}

export interface DownlinkDeps {
  kit: Pick<Kit, 'db' | 'signals' | 'members' | 'secrets' | 'now' | 'newId' | 'log'>
  bindings: Pick<Bindings, 'find'>
  identify: Pick<Identify, 'extensionOf'>
  tenants: Pick<Tenants, 'get'>
  tokens: Pick<Tokens, 'validate'>
  trafficLog: Pick<TrafficLog, 'record'>
  metrics: Pick<GatewayMetrics, 'countPush' | 'countUnsentPush'>
  observation: Pick<Observation, 'observes'>
  extensions: () => ReadonlyMap<string, Extension>
  sessions: () => Sessions | undefined
  /** Queues a message in a session, in the caller's transaction. */
  enqueue(sql: Sql, sessionKey: string, message: Message): Promise<'queued' | 'full' | 'gone'>
}

/** A push with all that other nodes need to deliver it and to report its outcome. */
interface PushInTransit {
  id: string
  endpointId: string
  push: Push
  /** The node that waits for the outcome. */
  sender: string
  /** Number of times that nodes have already forwarded the push. */
  hops: number
}

type Settle = (delivery: Delivery) => void

/** After three nodes have forwarded a push, it is dropped: the endpoint moves between nodes faster than the push can follow. */
const hopsMax = 3
const lookupBatchMax = 500
/**
 * Time for which a node remembers a forwarded push. Signals are delivered at least once; a push that arrives again within this time is
 * ignored.
 */
const seenMs = 120_000
const seenMax = 50_000

interface Parts extends DownlinkDeps {
  outcomes: PushOutcomes
  newCorrelationId(): string
  findBinding(endpointId: string): Promise<store.BindingRow | undefined>
}

export function createDownlink(deps: DownlinkDeps): Downlink {
  const { db, signals, members, secrets, newId, log } = deps.kit
  const { nodeId } = members
  // The cache is created with the first push from another node, because it allocates memory for its maximum number of entries.
  let seenPushes: LRUCache<string, true> | undefined
  const outcomes = createPushOutcomes()
  const findBinding = createBatcher<string, store.BindingRow>(async (endpointIds) => {
    const rows = await store.findBindings(db.sql, endpointIds)
    const byEndpoint = new Map(rows.map((row) => [row.endpointId, row]))
    return endpointIds.map((endpointId) => byEndpoint.get(endpointId))
  }, lookupBatchMax)
  const parts: Parts = { ...deps, outcomes, newCorrelationId: createCorrelationIds(newId), findBinding }

  signals.on(PushSettled, ({ id, delivery }) => outcomes.settle(id, delivery))
  signals.on(PushForwarded, async ({ sealed, push: plain, ...forwarded }) => {
    const { id, endpointId, hops } = forwarded
    const key = `${id} ${hops}`
    seenPushes ??= new LRUCache<string, true>({ max: seenMax, ttl: seenMs })
    if (seenPushes.has(key)) return
    seenPushes.set(key, true)
    const transit = { ...forwarded, push: plain ?? (JSON.parse(secrets.open(sealed!)) as Push) }
    const settle = createSettle(parts, transit)
    const binding = deps.bindings.find(endpointId)
    if (binding) return deliverTo(parts, binding, transit, settle)
    if (hops >= hopsMax) return drop(parts, transit, 'not_connected', settle)
    // The endpoint has moved to another node: forward the push.
    await sendElsewhere(parts, db.sql, { ...transit, hops: hops + 1 }).catch((error) => {
      forwardedPushLost(log, { err: error, endpointId })
      settle('offline')
    })
  })

  return {
    push: (binding, push) => sendToConnection(parts, binding, push),
    notSent: (endpointId, push, reason) => notSent(parts, { endpointId, push }, reason),
    sendHere: (endpointId, push, latest) => sendHere(parts, endpointId, push, latest),
    nodesOf: (sql, endpointIds) => nodesOf(parts, sql, endpointIds),
    async send(sql, endpointId, push) {
      const transit: PushInTransit = { id: newId(), endpointId, push, sender: nodeId, hops: 0 }
      const delivery = outcomes.expect(transit.id)
      const settle = createSettle(parts, transit)
      if (!(await isObserved(parts, endpointId, push))) {
        drop(parts, transit, 'not_observed', settle)
        return { delivery }
      }
      const binding = deps.bindings.find(endpointId)
      if (!binding) await sendElsewhere(parts, sql, transit)
      else if (!(await mayUseExtension(parts, endpointOf(binding), push)))
        drop(parts, transit, 'extension_not_allowed', settle)
      else afterCommit(parts, sql, () => sendLocally(parts, transit, settle))
      return { delivery }
    },
  }
}

/** Runs the effect after the transaction `sql` has committed. If `sql` is not a transaction, runs the effect immediately. */
function afterCommit({ kit: { db } }: Parts, sql: Sql, effect: () => void) {
  if (sql === db.sql) effect()
  else db.afterCommit(sql, effect)
}

/** Sends the push to the connection on this node. If the endpoint has left this node meanwhile, the push is sent elsewhere. */
function sendLocally(parts: Parts, transit: PushInTransit, settle: Settle) {
  const { kit, bindings } = parts
  const binding = bindings.find(transit.endpointId)
  if (binding) return deliverTo(parts, binding, transit, settle)
  sendElsewhere(parts, kit.db.sql, transit).catch((error) => {
    pushLost(kit.log, { err: error, endpointId: transit.endpointId })
    settle('offline')
  })
}

type Addressed = Pick<PushInTransit, 'endpointId' | 'push'>

function notSent({ kit: { log }, metrics }: Parts, { endpointId, push }: Addressed, reason: NotSentReason) {
  const { extension, name, resourcePath } = push
  metrics.countUnsentPush(extension, reason)
  log.debug({ endpointId, extension, name, resourcePath, reason }, 'push not sent')
}

function drop(parts: Parts, transit: Addressed, reason: NotSentReason, settle: Settle) {
  notSent(parts, transit, reason)
  settle('offline')
}

function deliverTo(parts: Parts, binding: Binding, transit: Addressed, settle: Settle) {
  const reason = sendToConnection(parts, binding, transit.push, settle)
  if (reason) drop(parts, transit, reason, settle)
}

const createSettle =
  ({ kit: { signals, members }, outcomes }: Parts, { id, sender }: PushInTransit): Settle =>
  (delivery) => {
    if (sender === members.nodeId) outcomes.settle(id, delivery)
    else void signals.sendNow(`node/${sender}`, PushSettled, { id, delivery })
  }

async function sendHere(
  parts: Parts,
  endpointId: string,
  push: Push,
  latest: () => Push | undefined = () => push,
): Promise<'sent' | 'withdrawn' | NotSentReason> {
  const outcome = await outcomeOfSendingHere(parts, endpointId, push, latest)
  if (outcome !== 'sent' && outcome !== 'withdrawn') notSent(parts, { endpointId, push }, outcome)
  return outcome
}

/** Sends the push to a connection of this node. If that is not possible, returns the reason. */
async function outcomeOfSendingHere(
  parts: Parts,
  endpointId: string,
  push: Push,
  latest: () => Push | undefined,
): Promise<'sent' | 'withdrawn' | NotSentReason> {
  const binding = parts.bindings.find(endpointId)
  if (!binding) return 'not_connected'
  if (!(await mayUseExtension(parts, endpointOf(binding), push))) return 'extension_not_allowed'
  if (!(await isObserved(parts, endpointId, push))) return 'not_observed'
  if (!binding.connection?.open) return 'not_connected'
  const current = latest()
  if (!current) return 'withdrawn'
  return sendToConnection(parts, binding, current, undefined, { transient: true }) ?? 'sent'
}

async function nodesOf({ kit: { db, members }, findBinding }: Parts, sql: Sql, endpointIds: string[]) {
  const rows =
    sql === db.sql ? await Promise.all(endpointIds.map(findBinding)) : await store.findBindings(sql, endpointIds)
  const nodes = new Map<string, string>()
  for (const row of rows)
    if (row?.nodeId && row.nodeId !== members.nodeId && members.isAlive(row.nodeId))
      nodes.set(row.endpointId, row.nodeId)
  return nodes
}

const deliveries = { delivered: 'delivered', queued: 'queued', lost: 'offline' } as const

/** Sends the push to the connection. If that is not possible, returns the reason, and `settle` is not called. */
function sendToConnection(
  parts: Parts,
  binding: Binding,
  push: Push,
  settle?: Settle,
  { transient = false } = {},
): NotSentReason | undefined {
  const { connection, versionName, token, endpointTokenId: recipientId } = binding
  if (!connection?.open) return 'not_connected'
  const topic = topicOf({ versionName, token }, push)
  const payload = payloadOf(push.payload)
  const { subscriptions } = connection.state
  const qos = pushQos(subscriptions, topic)
  const message = withIdentifiers(subscriptions, { topic, payload, qos, recipientId, transient })
  if (!connection.accepts(message)) return 'packet_too_large'
  if (!connection.send(message, settle && ((outcome) => settle(deliveries[outcome])))) return 'queue_full'
  const endpoint = endpointOf(binding)
  record(parts, endpoint, push, payload, 'sent')
  parts.extensions().get(push.extension)?.handedOver?.(endpoint, push)
  return undefined
}

/** These objects are shared by all records, because the traffic log caches the JSON text of each object. */
const deliveryMetadata = { sent: { delivery: 'sent' }, queued: { delivery: 'queued' } }

function record(parts: Parts, endpoint: DeviceEndpoint, push: Push, payload: Buffer, delivery: 'sent' | 'queued') {
  const { extension, resourcePath } = push
  parts.metrics.countPush(extension)
  // The write is not awaited, because the traffic log reports its own failures.
  void parts.trafficLog.record({
    ...endpoint,
    correlationId: parts.newCorrelationId(),
    direction: 'OUTBOUND',
    extension,
    resourcePath,
    payload,
    additionalMetadata: deliveryMetadata[delivery],
    createdAt: parts.kit.now(),
  })
}

const isObserved = async ({ observation }: Parts, endpointId: string, { extension, name }: Push) =>
  name === undefined || (await observation.observes(endpointId, extension))(name)

const mayUseExtension = async ({ identify }: Parts, endpoint: DeviceEndpoint, { extension }: Push) =>
  (await identify.extensionOf(endpoint, extension)) !== undefined

/** Sends to the node that has the connection according to the database, or into the session of a disconnected client. */
async function sendElsewhere(parts: Parts, sql: Sql, transit: PushInTransit) {
  const { kit, findBinding } = parts
  const { endpointId, id, push, sender, hops } = transit
  const settle = createSettle(parts, transit)
  const dropAfterCommit = (reason: NotSentReason) => afterCommit(parts, sql, () => drop(parts, transit, reason, settle))
  const row = sql === kit.db.sql ? await findBinding(endpointId) : (await store.findBindings(sql, [endpointId]))[0]
  if (!row) return dropAfterCommit('not_connected')
  const { nodeId, sessionKey, tokenSealed } = row
  if (nodeId !== null && nodeId !== kit.members.nodeId && kit.members.isAlive(nodeId)) {
    if (!(await mayUseExtension(parts, row, push))) return dropAfterCommit('extension_not_allowed')
    const forwarded = { id, endpointId, sender, hops }
    if (sql !== kit.db.sql) {
      const sealed = kit.secrets.seal(JSON.stringify(push))
      await kit.signals.send(sql, `node/${nodeId}`, PushForwarded, { ...forwarded, sealed })
    } else if (!(await kit.signals.sendNow(`node/${nodeId}`, PushForwarded, { ...forwarded, push }))) settle('offline')
  } else if (sessionKey === null || tokenSealed === null) dropAfterCommit('not_connected')
  else await enqueueInSession(parts, sql, { ...row, sessionKey, tokenSealed }, push, settle)
}

async function enqueueInSession(
  parts: Parts,
  sql: Sql,
  row: store.BindingRow & { sessionKey: string; tokenSealed: string },
  push: Push,
  settle: Settle,
) {
  const { kit, tokens, tenants } = parts
  const { endpointId, tenantId, applicationName, versionName, sessionKey } = row
  const endpoint = { endpointId, tenantId, applicationName, versionName }
  const token = kit.secrets.open(row.tokenSealed)
  const [valid, tenant] = await Promise.all([tokens.validate({ token, versionName }), tenants.get(tenantId)])
  const isValid =
    valid?.endpointId === endpointId && tenant?.available && (await mayUseExtension(parts, endpoint, push))
  if (!isValid) return afterCommit(parts, sql, () => drop(parts, { endpointId, push }, 'token_not_valid', settle))
  const payload = payloadOf(push.payload)
  const topic = topicOf({ versionName, token }, push)
  const message: Message = { topic, payload, qos: 1, recipientId: valid.endpointTokenId }
  if (sql !== kit.db.sql) {
    const outcome = await parts.enqueue(sql, sessionKey, message)
    kit.db.afterCommit(sql, () => {
      if (outcome !== 'queued') return drop(parts, { endpointId, push }, refusalOf[outcome], settle)
      record(parts, endpoint, push, payload, 'queued')
      settle('queued')
      // If the client is connected to this node, its session loads the message now, and sends it once the client has presented the token.
      void parts.sessions()?.fetch([sessionKey])
    })
    return
  }
  const settled: Parameters<Sessions['deliver']>[2] = (outcome) => settle(deliveries[outcome])
  const outcome = await parts.sessions()?.deliver(sessionKey, message, settled)
  if (outcome === 'sent' || outcome === 'queued') record(parts, endpoint, push, payload, outcome)
  if (outcome === 'queued') settle('queued')
  else if (outcome !== 'sent') drop(parts, { endpointId, push }, refusalOf[outcome ?? 'gone'], settle)
}

const refusalOf = { full: 'queue_full', gone: 'not_connected', too_large: 'packet_too_large' } as const

const topicOf = ({ versionName, token }: { versionName: string; token: string }, { extension, resourcePath }: Push) =>
  `kp1/${versionName}/${extension}/${token}${resourcePath}/status`

export const endpointOf = ({ tenant, applicationName, versionName, endpointId }: Binding): DeviceEndpoint => ({
  tenantId: tenant.tenantId,
  applicationName,
  versionName,
  endpointId,
})
