/**
 * Opens the MQTT sessions of integrations on this node. Each session belongs to one node, which the row in `lorawan.sessions` names. Nodes
 * take over sessions without a node immediately when they are signalled, and search for such sessions every few seconds. The sweep of
 * `kernel/members.ts` frees the sessions of a dead node.
 */
import type { Identity } from '../../../identity/contract.ts'
import { RealmStatusChanged } from '../../../identity/events.ts'
import { createSemaphore } from '../../../kernel/concurrency-limit.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { createKeyedMutex } from '../../../kernel/keyed-mutex.ts'
import { AppIntegrationChanged } from '../events.ts'
import { parseMqttUrl } from '../hosts.ts'
import { sessionNotReset, sessionStateNotWritten, sessionsNotClaimed } from '../log-messages.ts'
import * as store from '../store/sessions.ts'
import type { Publisher } from './downlinks.ts'
import { type Session, startSession } from './session.ts'
import { SessionsFree } from './signals.ts'

export interface SessionDeps {
  kit: Kit
  identity: Pick<Identity, 'realms'>
  /** Resolves when the message may be acknowledged. */
  handle(publisher: Publisher, topic: string, payload: Buffer | undefined): Promise<void>
  connected(publisher: Publisher): void
}

export interface Sessions {
  /** Returns the publisher of an integration's session, if this node has the session. */
  find(appIntegrationId: number): Publisher | undefined
  start(): void
  stop(): Promise<void>
}

/** A session that this node has. */
interface Held extends store.SessionRow {
  /** The MQTT session; undefined while the tenant is not available or the address of the network is not valid. */
  session: Session | undefined
  /** Whether the tenant was available when `open` ran. Undefined until `open` has succeeded, so that the next refresh repeats it. */
  wasAvailable: boolean | undefined
  publisher: Publisher
}

interface Parts extends SessionDeps {
  held: Map<number, Held>
  inOrder<T>(id: string, work: () => Promise<T>): Promise<T>
  limited<T>(work: () => Promise<T>): Promise<T>
  isStopped: boolean
  claiming: Promise<void> | undefined
  /** True if another claim was requested while one is running. */
  isClaimWanted: boolean
}

/** The interval at which a node without other members looks for sessions that no node has. */
const claimAloneMs = 1900
const refreshMs = 10_000
const sessionsPerClaim = 100
const concurrentConnects = 50

export function createSessions(deps: SessionDeps): Sessions {
  const { kit } = deps
  const { bus, members, signals } = kit
  const parts: Parts = {
    ...deps,
    held: new Map(),
    inOrder: createKeyedMutex().run,
    limited: createSemaphore(concurrentConnects),
    isStopped: true,
    claiming: undefined,
    isClaimWanted: false,
  }
  kit.metrics.gauge(
    'waypost_lorawan_sessions',
    'Number of LoRaWAN sessions of this node, by state.',
    ['state'],
    (gauge) => {
      const connected = [...parts.held.values()].filter(({ session }) => session?.isConnected).length
      gauge.set({ state: 'connected' }, connected)
      gauge.set({ state: 'disconnected' }, parts.held.size - connected)
    },
  )
  bus.subscribe(AppIntegrationChanged, ({ appIntegrationId }) => {
    if (parts.held.has(appIntegrationId)) refresh(parts, [appIntegrationId])
    else claim(parts)
  })
  bus.subscribe(RealmStatusChanged, ({ tenantId }) => {
    const ofTenant = [...parts.held.values()].filter((held) => held.tenantId === tenantId)
    for (const held of ofTenant) refresh(parts, [held.appIntegrationId])
  })
  signals.on(SessionsFree, () => claim(parts))
  signals.onReset(() => {
    refresh(parts, [...parts.held.keys()])
    claim(parts)
  })
  signals.declareCheck({
    name: 'free LoRaWAN sessions',
    expression: store.existsFreeSession,
    handle: (isFree) => isFree === true && claim(parts),
    aloneMs: claimAloneMs,
  })
  members.declareOwnedRows({
    name: 'lorawan.sessions',
    owners: store.findNodesWithSessions,
    sweep: async (nodeId) => {
      if ((await store.releaseSessions(kit.db.sql, nodeId, null)) > 0) await signals.sendNow('all', SessionsFree, {})
    },
  })
  const timers: NodeJS.Timeout[] = []
  return {
    find: (id) => parts.held.get(id)?.publisher,
    start() {
      parts.isStopped = false
      claim(parts)
      timers.push(setInterval(() => refresh(parts, [...parts.held.keys()]), refreshMs).unref())
    },
    async stop() {
      for (const timer of timers.splice(0)) clearInterval(timer)
      await stopAll(parts)
    },
  }
}

/** Takes sessions that no node has. It does not wait; a call during a run causes another run. */
function claim(parts: Parts) {
  parts.isClaimWanted = true
  if (parts.isStopped || parts.claiming) return
  parts.claiming = claimAll(parts)
    .catch((error) => sessionsNotClaimed(parts.kit.log, { err: error }))
    .finally(() => {
      parts.claiming = undefined
      if (parts.isClaimWanted) claim(parts)
    })
}

async function claimAll(parts: Parts) {
  const { kit } = parts
  while (parts.isClaimWanted && !parts.isStopped) {
    parts.isClaimWanted = false
    const rows = await store.claimSessions(kit.db.sql, kit.members.nodeId, sessionsPerClaim)
    const available = await availableTenants(parts, rows)
    for (const row of rows)
      change(parts, row.appIntegrationId, async () => {
        // A sweep may have freed a row whose session this node still has. That session is ended before a new session is opened.
        await parts.held.get(row.appIntegrationId)?.session?.stop()
        await open(parts, row, available.has(row.tenantId))
      })
    if (rows.length === sessionsPerClaim) parts.isClaimWanted = true
  }
}

/** Updates sessions of this node from their rows: closes sessions without a row, and reopens changed sessions. It does not wait. */
function refresh(parts: Parts, ids: number[]) {
  if (parts.isStopped || ids.length === 0) return
  const { kit } = parts
  const read = async () => {
    const rows = await store.findSessions(kit.db.sql, kit.members.nodeId, ids)
    const available = await availableTenants(parts, rows)
    const byId = new Map(rows.map((row) => [row.appIntegrationId, row]))
    for (const id of ids) change(parts, id, () => adapt(parts, id, byId.get(id), available))
  }
  void read().catch((error) => sessionsNotClaimed(kit.log, { err: error }))
}

/** Runs changes of one session one after the other. A change that failed is repeated with the next refresh. */
function change(parts: Parts, id: number, work: () => Promise<void>) {
  void parts.inOrder(String(id), work).catch((error) => sessionsNotClaimed(parts.kit.log, { err: error }))
}

async function availableTenants({ identity }: Parts, rows: store.SessionRow[]): Promise<Set<string>> {
  const realms = await identity.realms([...new Set(rows.map(({ tenantId }) => tenantId))])
  return new Set([...realms.values()].filter(({ status }) => status === 'AVAILABLE').map(({ tenantId }) => tenantId))
}

const configured = ({ claim, clientId, netUsername, netApiKey, netPlainMqttServerUrl }: store.SessionRow) =>
  JSON.stringify([claim, clientId, netUsername, netApiKey, netPlainMqttServerUrl])

async function adapt(parts: Parts, id: number, row: store.SessionRow | undefined, available: Set<string>) {
  const held = parts.held.get(id)
  if (!held || parts.isStopped) return
  if (!row) {
    parts.held.delete(id)
    await end(parts, held)
  } else if (configured(row) !== configured(held) || available.has(row.tenantId) !== held.wasAvailable) {
    await held.session?.stop()
    await open(parts, row, available.has(row.tenantId))
  }
}

/** Ends a session that is no longer wanted. If another node has the session, the broker keeps the queued messages for that node. */
async function end({ kit }: Parts, { appIntegrationId, session, claim }: Held) {
  const { nodeId } = kit.members
  const isOurs = await store.isUnwanted(kit.db.sql, { appIntegrationId, nodeId, claim })
  await session?.stop({ discard: isOurs })
  if (isOurs) await store.releaseSessions(kit.db.sql, nodeId, [appIntegrationId])
}

/** Opens a session. If the tenant is not available or the address is not valid, there is no connection, and only the state is written. */
async function open(parts: Parts, row: store.SessionRow, isAvailable: boolean) {
  if (parts.isStopped) return
  const { kit } = parts
  const { appIntegrationId, tenantId, claim, netUsername: username } = row
  const session = { appIntegrationId, nodeId: kit.members.nodeId, claim }
  const held: Held = {
    ...row,
    session: undefined,
    wasAvailable: undefined,
    publisher: {
      appIntegrationId,
      tenantId,
      username,
      get isConnected() {
        return held.session?.isConnected === true
      },
      publish: async (topic, payload) => await held.session?.publish(topic, payload),
    },
  }
  parts.held.set(appIntegrationId, held)
  /** Returns whether the state was written. */
  const write = async (state: { isConnected: boolean; error: string | null }) => {
    try {
      await store.updateState(kit.db.sql, session, state)
      return true
    } catch (error) {
      sessionStateNotWritten(kit.log, { err: error, appIntegrationId })
      return false
    }
  }
  const { allowPrivateAddresses: allowPrivate } = kit.platform
  const address = parseMqttUrl(row.netPlainMqttServerUrl, { allowPrivate })
  if (!isAvailable || 'problem' in address) {
    const error = isAvailable && 'problem' in address ? `netPlainMqttServerUrl: ${address.problem}` : null
    if (await write({ isConnected: false, error })) held.wasAvailable = isAvailable
    return
  }
  held.session = startSession({
    address,
    clientId: row.clientId,
    username,
    password: kit.secrets.open(row.netApiKey),
    allowPrivate,
    startsClean: row.startsClean,
    mayConnect: () => store.isClaimed(kit.db.sql, session),
    limited: parts.limited,
    changed: (state) => void write(state),
    async cleaned() {
      try {
        await store.updateCleaned(kit.db.sql, session)
      } catch (error) {
        sessionNotReset(kit.log, { err: error, appIntegrationId })
        throw error
      }
    },
    handle: (topic, payload) => parts.handle(held.publisher, topic, payload),
    connected: () => parts.connected(held.publisher),
  })
  held.wasAvailable = true
}

async function stopAll(parts: Parts) {
  const { kit } = parts
  parts.isStopped = true
  await parts.claiming
  const sessions = [...parts.held.values()]
  await Promise.all(sessions.map(({ session }) => session?.stop()))
  parts.held.clear()
  if (sessions.length === 0) return
  try {
    await store.releaseSessions(kit.db.sql, kit.members.nodeId, null)
    await kit.signals.sendNow('all', SessionsFree, {})
  } catch (error) {
    // The rows still name this node. They are free only when another node has swept the rows of this node.
    sessionsNotClaimed(kit.log, { err: error })
  }
}
