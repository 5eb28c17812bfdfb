/** Puts the parts of the devices' door together. */
import type { Identity } from '../identity/contract.ts'
import type { Kit, OpenDoors } from '../kernel/define-service.ts'
import type { Extension } from '../kernel/device.ts'
import type { PeriodicTask } from '../kernel/periodic.ts'
import type { Applications } from '../services/applications/contract.ts'
import type { Credentials } from '../services/credentials/contract.ts'
import type { Register } from '../services/register/contract.ts'
import { EndpointUnregistered } from '../services/register/events.ts'
import { TenantDeleted } from '../services/tenants/events.ts'
import type { Tokens } from '../services/tokens/contract.ts'
import type { TrafficLog } from '../services/traffic-log/contract.ts'
import { type Bindings, createBindings } from './bindings.ts'
import { createClaims } from './claims.ts'
import { createClients } from './clients.ts'
import { createConnectionLimits } from './connection-limits.ts'
import { createConnectivity } from './connectivity.ts'
import type { Gateway } from './contract.ts'
import { createDispatch } from './dispatch.ts'
import { type DoorDeps, openMqtt, openMqtts } from './doors.ts'
import { createDownlink, type Downlink } from './downlink.ts'
import { createHost, slotOf } from './host.ts'
import type { BindingDeps } from './http/binding.ts'
import type { WebSocketDeps } from './http/websocket.ts'
import { createIdentify } from './identify.ts'
import { createGuesses, trafficRate } from './limits.ts'
import { createGatewayMetrics } from './metrics.ts'
import type { Sessions } from './mqtt/host.ts'
import { defaultLimits } from './mqtt/limits.ts'
import { createSessions } from './mqtt/sessions.ts'
import { createObservation } from './observation.ts'
import { createOwed } from './owed.ts'
import type { Peer } from './peers.ts'
import { createRecheck } from './recheck.ts'
import { createServerCertificate } from './server-certificate.ts'
import type { GatewaySettings } from './settings.ts'
import * as store from './store/bindings.ts'
import { deleteHoldersOfNode, findNodesWithHolders } from './store/holders.ts'
import { sweepSessions } from './store/session-writes.ts'
import { createSessionStore, type GatewaySessionStore } from './store/sessions.ts'
import { createTenants } from './tenants.ts'
import { createWelcome, type Welcome } from './welcome.ts'

export interface GatewayService {
  api: Gateway
  binding: BindingDeps
  webSockets: WebSocketDeps
  periodic: PeriodicTask[]
  open(extensions: Extension[]): Promise<OpenDoors>
  stop(): Promise<void>
}

export interface Given {
  identity: Identity
  applications: Applications
  register: Register
  tokens: Tokens
  credentials: Credentials
  trafficLog: TrafficLog
}

/** A token is not a password: neighbours of a device with an old one are not locked out by it. */
const wrongTokensPerAddress = 10

export function createGateway(kit: Kit<GatewaySettings>, given: Given): GatewayService {
  const { bus, log } = kit
  const { identity, applications, register, tokens, credentials, trafficLog } = given
  const { settings } = kit
  const { address, windowSeconds, lockSeconds } = kit.platform.loginLockout
  const named = new Map<string, Extension>()
  let sessions: Sessions<Peer> | undefined
  let sessionStore: GatewaySessionStore | undefined

  const metrics = createGatewayMetrics(kit.metrics)
  const refused = (transport: string, from: string, reason: string, detail?: string) => {
    metrics.refused(reason)
    trafficLog.refuse({ transport, address: from, reason, ...(detail !== undefined && { detail }) })
  }
  const limits = createConnectionLimits({
    share: kit.descriptors.mqtt,
    strangersPerAddress: settings.strangersPerAddress,
    perAddress: settings.connectionsPerAddress,
    refused,
  })
  const wrongCredentials = createGuesses({ limit: address, windowSeconds, lockSeconds })
  const guesses = createGuesses({ limit: address * wrongTokensPerAddress, windowSeconds, lockSeconds })
  const observation = createObservation(kit)

  const tenantRate = trafficRate(settings.messagesPerTenant, settings.bytesPerTenant)
  const tenants = createTenants(bus, identity, applications, tenantRate)
  const identify = createIdentify({ bus, tokens, register, applications, tenants, extensions: () => named })
  const clients = createClients({ bus, credentials, tenants, guesses: wrongCredentials })
  const connectivity = createConnectivity(kit, { register, extensions: () => named, bindings: () => bindings })
  let welcome: Welcome | undefined
  const bindings: Bindings = createBindings(kit, {
    bound(presence) {
      limits.stands(slotOf(presence.connection!), 'protected')
      connectivity.bound(presence)
      welcome?.(presence)
    },
    unbound(presence, connection) {
      const { endpoints, shown } = connection.state
      if (!endpoints && !shown) limits.stands(slotOf(connection), 'idle')
      connectivity.unbound(presence, connection)
    },
    visited: connectivity.visited,
  })
  const downlink: Downlink = createDownlink({
    kit,
    bindings,
    identify,
    tenants,
    tokens,
    trafficLog,
    metrics,
    observation,
    sessions: () => sessions,
    enqueue: async (sql, key, message) => (await sessionStore?.enqueueIn(sql, key, message)) ?? 'gone',
  })
  welcome = createWelcome(log, {
    extensions: () => named,
    identify,
    observation,
    find: bindings.find,
    push: downlink.push,
  })
  const recheck = createRecheck(kit, {
    clients,
    tenants,
    bindings,
    identify,
    again: () => connectivity.again(bindings.all()),
  })
  const dispatch = createDispatch(kit, trafficLog)
  const host = createHost({
    settings,
    tenantRate,
    log,
    clients,
    identify,
    bindings,
    dispatch,
    limits,
    guesses,
    trafficLog,
    metrics,
    mayDeliver: createOwed(kit, { applications, register, tokens, tenants, clients, sessions: () => sessions }),
    opened: recheck.opened,
    closed: recheck.closed,
  })
  const claims = createClaims(kit, () => sessions)
  kit.members.leftovers({
    name: 'gateway.holders',
    owners: findNodesWithHolders,
    sweep: async (node) => void (await deleteHoldersOfNode(kit.db.sql, node)),
  })
  const certificate = createServerCertificate(kit, credentials)

  bus.react('gateway.forget-endpoints', EndpointUnregistered, async (sql, { endpointIds }) => {
    await store.deleteBindings(sql, endpointIds)
  })
  bus.react('gateway.forget-tenant', TenantDeleted, async (sql, { tenantId }) => {
    await store.deleteBindingsOfTenant(sql, tenantId)
  })

  return {
    api: {
      send: downlink.send,
      isConnected: (endpointId) => bindings.find(endpointId) !== undefined,
      observe: observation.set,
    },
    binding: { tenantRate, identify, dispatch, guesses, trafficLog, metrics },
    webSockets: {
      trustProxy: kit.platform.trustProxy,
      sessions: () => sessions,
      limits,
    },
    periodic: [
      {
        name: 'gateway.expired-sessions',
        everySeconds: 60,
        run: (sql) => sweepSessions(sql, kit.now(), defaultLimits.sessionExpiryMaxSeconds),
      },
    ],
    async open(extensions) {
      for (const extension of extensions) named.set(extension.name, extension)
      const bounds = {
        ...defaultLimits,
        connectTimeoutSeconds: settings.connectTimeoutSeconds,
        queuedMessagesMax: settings.queuedMessagesMax,
      }
      sessionStore = createSessionStore({ ...kit, claims }, bounds)
      const made = createSessions(host, {
        store: sessionStore,
        log,
        now: kit.now,
        limits: bounds,
      })
      sessions = made
      const deps: DoorDeps = { host: kit.platform.host, sessions: made, limits, descriptors: kit.descriptors, refused }
      const mqtt = await openMqtt(deps, settings.mqttPort)
      const mqtts = await openMqtts(deps, settings.mqttsPort, certificate).catch(async (error) => {
        await mqtt.close()
        throw error
      })
      return {
        addresses: { mqttUrl: mqtt.url, mqttsUrl: mqtts.url },
        async close() {
          sessions = undefined
          await Promise.all([mqtt.close(), mqtts.close()])
          await made.close()
          mqtts.cut?.()
        },
      }
    },

    async stop() {
      await welcome?.settled()
      await connectivity.stop()
    },
  }
}
