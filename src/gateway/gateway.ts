/** Assembles the parts of the gateway. */
import { isIP } from 'node:net'
import type { Identity } from '../identity/contract.ts'
import { noProxy } from '../kernel/client-address.ts'
import type { Kit, OpenListeners } from '../kernel/define-service.ts'
import type { Extension } from '../kernel/device.ts'
import type { WrongSecret } from '../kernel/lockout-report.ts'
import type { PeriodicTask } from '../kernel/periodic.ts'
import { createServerCertificate, hostsOf } from '../kernel/server-certificate.ts'
import { ConfigurationError } from '../kernel/settings.ts'
import type { Applications } from '../services/applications/contract.ts'
import type { Credentials } from '../services/credentials/contract.ts'
import type { Register } from '../services/register/contract.ts'
import { EndpointUnregistered } from '../services/register/events.ts'
import { TenantDeleted } from '../services/tenants/events.ts'
import type { Tokens } from '../services/tokens/contract.ts'
import type { TrafficLog } from '../services/traffic-log/contract.ts'
import { createAddressLockout } from './address-lockout.ts'
import { createListAddresses, type ListDeviceAddresses } from './addresses.ts'
import { type Bindings, createBindings } from './bindings.ts'
import { createReceiveCarried } from './carried-messages.ts'
import { createClients } from './clients.ts'
import { createConnectionHistory, type ListConnections } from './connection-history.ts'
import { createConnectionLimits, slotOf } from './connection-limits.ts'
import type { ConnectionState } from './connection-state.ts'
import { createConnectivity } from './connectivity.ts'
import type { Gateway } from './contract.ts'
import { createDeliveryPermission } from './delivery-permission.ts'
import { createDispatch, type Dispatch } from './dispatch.ts'
import { createDownlink, endpointOf } from './downlink.ts'
import { createHost } from './host.ts'
import type { DeviceHttpDeps } from './http/device-messages.ts'
import type { WebSocketDeps } from './http/websocket.ts'
import { createIdentify } from './identify.ts'
import { type ListenerDeps, openMqtt, openMqtts } from './listeners.ts'
import { createGatewayMetrics } from './metrics.ts'
import type { Host, Sessions } from './mqtt/host.ts'
import { defaultLimits } from './mqtt/limits.ts'
import { createSessions } from './mqtt/sessions.ts'
import { createObservation } from './observation.ts'
import { createProxyProtocol } from './proxy-protocol.ts'
import { createPushOnConnect, type PushOnConnect } from './push-on-connect.ts'
import { trafficRate } from './rate-limits.ts'
import { createRecheck } from './recheck.ts'
import { createSessionClaims } from './session-claims.ts'
import type { GatewaySettings } from './settings.ts'
import * as store from './store/bindings.ts'
import { deleteHoldersOfNode, findNodesWithHolders } from './store/holders.ts'
import { sweepSessions } from './store/session-writes.ts'
import { createSessionStore, type GatewaySessionStore } from './store/sessions.ts'
import { createTenants } from './tenants.ts'

export interface GatewayService {
  api: Gateway
  deviceHttp: DeviceHttpDeps
  webSockets: WebSocketDeps
  listAddresses: ListDeviceAddresses
  listConnections: ListConnections
  periodic: PeriodicTask[]
  open(extensions: Extension[]): Promise<OpenListeners>
  stop(): Promise<void>
}

export interface NeededServices {
  identity: Identity
  applications: Applications
  register: Register
  tokens: Tokens
  credentials: Credentials
  trafficLog: TrafficLog
}

/** The parts that exist only after `open`: the extensions by name, and the MQTT layer, which exists while its listeners are open. */
interface RunningParts {
  extensions: Map<string, Extension>
  sessions: Sessions<ConnectionState> | undefined
  sessionStore: GatewaySessionStore | undefined
  addresses: { mqttUrl: string; mqttsUrl: string } | undefined
}

/**
 * Ten wrong tokens count as one wrong password, because a device with an old token must not lock out other devices behind the same address.
 */
const wrongTokensPerPassword = 10

export function createGateway(kit: Kit<GatewaySettings>, services: NeededServices): GatewayService {
  const running: RunningParts = {
    extensions: new Map(),
    sessions: undefined,
    sessionStore: undefined,
    addresses: undefined,
  }
  const admission = createAdmission(kit, services, running)
  const delivery = createDelivery(kit, services, running, admission)
  const dispatch = createDispatch(kit, services.trafficLog, services.register)
  const open = createOpen(
    kit,
    services,
    running,
    admission,
    createMqttHost(kit, services, running, admission, delivery, dispatch),
  )
  deleteRowsOfDeletedOwners(kit)
  const { tenantRate, identify, tokenLockout, metrics, limits, observation } = admission
  const { bindings, downlink, pushOnConnect, connectivity } = delivery
  return {
    api: {
      receive: createReceiveCarried(kit, {
        ...admission,
        trafficLog: services.trafficLog,
        register: services.register,
      }),
      send: downlink.send,
      sendHere: downlink.sendHere,
      isConnected: (endpointId) => bindings.find(endpointId) !== undefined,
      connectedEndpoint(endpointId) {
        const binding = bindings.find(endpointId)
        return binding && endpointOf(binding)
      },
      *connectedHere() {
        for (const binding of bindings.all()) yield endpointOf(binding)
      },
      connectionOf: bindings.find,
      nodesOf: downlink.nodesOf,
      observe: observation.set,
    },
    deviceHttp: { tenantRate, identify, dispatch, tokenLockout, trafficLog: services.trafficLog, metrics },
    webSockets: { trustProxy: kit.platform.trustProxy, sessions: () => running.sessions, limits },
    listConnections: createConnectionHistory(kit, services.register),
    listAddresses: createListAddresses({ ...kit, tenants: admission.tenants, listeners: () => running.addresses }),
    periodic: [
      {
        name: 'gateway.expired-sessions',
        everySeconds: 60,
        run: (sql) => sweepSessions(sql, kit.now(), defaultLimits.sessionExpiryMaxSeconds),
      },
    ],
    open,
    async stop() {
      await pushOnConnect.settled()
      await connectivity.stop()
    },
  }
}

/** Creates the parts that decide which clients may connect and send: limits, lockouts, credentials, tokens. */
function createAdmission(kit: Kit<GatewaySettings>, services: NeededServices, running: RunningParts) {
  const { bus, settings } = kit
  const { identity, applications, register, tokens, credentials, trafficLog } = services
  const { address, windowSeconds, lockSeconds } = kit.platform.loginLockout
  const metrics = createGatewayMetrics(kit.metrics)
  const recordRefusal = (transport: string, from: string, reason: string, detail?: string) => {
    metrics.countRefusal(reason)
    trafficLog.recordRefusal({ transport, address: from, reason, ...(detail !== undefined && { detail }) })
  }
  const limits = createConnectionLimits({
    share: kit.descriptors.mqtt,
    anonymousPerAddress: settings.anonymousPerAddress,
    perAddress: settings.connectionsPerAddress,
    recordRefusal,
  })
  const locked = (secret: WrongSecret) => ({
    locked: (from: string) => kit.reportLockout({ kind: 'address', secret, address: from }),
  })
  const rule = { windowSeconds, lockSeconds }
  const credentialLockout = createAddressLockout({ limit: address, ...rule }, locked('mqtt-credentials'))
  const tokenLockout = createAddressLockout(
    { limit: address * wrongTokensPerPassword, ...rule },
    locked('endpoint-token'),
  )
  const observation = createObservation(kit)
  const tenantRate = trafficRate(settings.messagesPerTenant, settings.bytesPerTenant)
  const tenants = createTenants(bus, identity, applications, tenantRate)
  const identify = createIdentify({
    bus,
    tokens,
    register,
    applications,
    tenants,
    extensions: () => running.extensions,
  })
  const clients = createClients({ bus, credentials, tenants, lockout: credentialLockout })
  return { metrics, refused: recordRefusal, limits, tokenLockout, observation, tenantRate, tenants, identify, clients }
}
type Admission = ReturnType<typeof createAdmission>

/** Creates the parts that bind endpoints to connections and send pushes. */
function createDelivery(
  kit: Kit<GatewaySettings>,
  services: NeededServices,
  running: RunningParts,
  admission: Admission,
) {
  const { register, tokens, trafficLog } = services
  const { limits, identify, tenants, metrics, observation } = admission
  const extensions = () => running.extensions
  const connectivity = createConnectivity(kit, { register, extensions, bindings: () => bindings })
  const bindings: Bindings = createBindings(kit, {
    bound(binding) {
      limits.setEvictionClass(slotOf(binding.connection!), 'protected')
      connectivity.bound(binding)
      pushOnConnect(binding)
    },
    unbound(binding, connection, why) {
      const { endpoints, authentication } = connection.state
      if (!endpoints && !authentication) limits.setEvictionClass(slotOf(connection), 'idle')
      connectivity.unbound(binding, connection, why)
    },
    transient: connectivity.transient,
  })
  const downlink = createDownlink({
    kit,
    bindings,
    identify,
    tenants,
    tokens,
    trafficLog,
    metrics,
    observation,
    extensions,
    sessions: () => running.sessions,
    enqueue: async (sql, key, message) => (await running.sessionStore?.enqueueIn(sql, key, message)) ?? 'gone',
  })
  const { find } = bindings
  const pushOnConnect: PushOnConnect = createPushOnConnect(kit.log, {
    extensions,
    identify,
    observation,
    find,
    push: downlink.push,
    notSent: downlink.notSent,
  })
  return { connectivity, bindings, downlink, pushOnConnect }
}
type Delivery = ReturnType<typeof createDelivery>

function createMqttHost(
  kit: Kit<GatewaySettings>,
  services: NeededServices,
  running: RunningParts,
  admission: Admission,
  { bindings, connectivity }: Delivery,
  dispatch: Dispatch,
) {
  const { applications, register, tokens, trafficLog } = services
  const { tenantRate, clients, identify, limits, tokenLockout, metrics, tenants } = admission
  const reportAgain = () => connectivity.reportAgain(bindings.all())
  const recheck = createRecheck(kit, { clients, tenants, bindings, identify, reportAgain })
  return createHost({
    settings: kit.settings,
    tenantRate,
    log: kit.log,
    clients,
    identify,
    bindings,
    dispatch,
    limits,
    tokenLockout,
    trafficLog,
    metrics,
    mayDeliver: createDeliveryPermission(kit, {
      applications,
      register,
      tokens,
      tenants,
      clients,
      sessions: () => running.sessions,
    }),
    opened: recheck.opened,
    closed: recheck.closed,
  })
}

/** Returns the function that opens the MQTT listeners. */
function createOpen(
  kit: Kit<GatewaySettings>,
  { credentials }: NeededServices,
  running: RunningParts,
  { limits, refused: recordRefusal }: Admission,
  host: Host<ConnectionState>,
): GatewayService['open'] {
  const { settings, log, now } = kit
  if (settings.proxyProtocol && kit.platform.trustProxy === noProxy)
    throw new ConfigurationError('WAYPOST_MQTT_PROXY_PROTOCOL needs WAYPOST_TRUST_PROXY, which names the proxies')
  const claims = createSessionClaims(kit, () => running.sessions)
  const certificate = createServerCertificate(
    {
      settings: 'MQTTS',
      certificateFile: settings.certificateFile,
      keyFile: settings.keyFile,
      acceptsClientCertificates: true,
      hosts: () =>
        hostsOf(kit.baseUrl(), kit.platform.host, (name) => [...namesForMqtt(name), ...settings.certificateHosts]),
      log,
      now,
    },
    credentials,
  )
  return async (extensions) => {
    for (const extension of extensions) running.extensions.set(extension.name, extension)
    const mqttLimits = {
      ...defaultLimits,
      connectTimeoutSeconds: settings.connectTimeoutSeconds,
      queuedMessagesMax: settings.queuedMessagesMax,
    }
    running.sessionStore = createSessionStore({ ...kit, claims }, mqttLimits)
    const sessions = createSessions(host, { store: running.sessionStore, log, now, limits: mqttLimits })
    running.sessions = sessions
    const { descriptors, platform } = kit
    const proxies = createProxyProtocol({
      isOn: settings.proxyProtocol,
      isProxy: platform.trustProxy,
      refused: (address, problem) => recordRefusal('mqtt', address, 'proxy_header', problem),
    })
    const deps: ListenerDeps = { host: platform.host, sessions, limits, descriptors, recordRefusal, log, proxies }
    const mqtt = await openMqtt(deps, settings.mqttPort)
    const mqtts = await openMqtts(deps, settings.mqttsPort, certificate).catch(async (error) => {
      await mqtt.close()
      throw error
    })
    running.addresses = { mqttUrl: mqtt.url, mqttsUrl: mqtts.url }
    return {
      addresses: running.addresses,
      async close() {
        running.sessions = undefined
        running.addresses = undefined
        await Promise.all([mqtt.close(), mqtts.close()])
        proxies.close()
        await sessions.close()
        mqtts.destroySockets?.()
      },
    }
  }
}

/** Returns additional host names for the certificate of MQTT over TLS: existing devices connect to `mqtt.` with the public host. */
const namesForMqtt = (publicHost: string) =>
  isIP(publicHost) || publicHost === 'localhost' ? [] : [`mqtt.${publicHost}`]

/** Registers the handlers that delete the rows of dead nodes, unregistered endpoints and deleted tenants. */
function deleteRowsOfDeletedOwners({ bus, db, members }: Kit<GatewaySettings>) {
  members.declareOwnedRows({
    name: 'gateway.holders',
    owners: findNodesWithHolders,
    sweep: async (node) => void (await deleteHoldersOfNode(db.sql, node)),
  })
  bus.handle('gateway.forget-endpoints', EndpointUnregistered, async (sql, { endpointIds }) => {
    await store.deleteBindings(sql, endpointIds)
  })
  bus.handle('gateway.forget-tenant', TenantDeleted, async (sql, { tenantId }) => {
    await store.deleteBindingsOfTenant(sql, tenantId)
  })
}
