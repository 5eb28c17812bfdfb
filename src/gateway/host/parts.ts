/** Dependencies of the functions between the MQTT layer and the gateway. */
import type { Kit } from '../../kernel/define-service.ts'
import type { TrafficLog } from '../../services/traffic-log/contract.ts'
import type { AddressLockout } from '../address-lockout.ts'
import type { AnonymousTimeout } from '../anonymous-timeout.ts'
import type { Bindings } from '../bindings.ts'
import type { Clients } from '../clients.ts'
import type { ConnectionLimits } from '../connection-limits.ts'
import type { ConnectionState, DeviceConnection } from '../connection-state.ts'
import type { Dispatch } from '../dispatch.ts'
import type { Identify } from '../identify.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { Host } from '../mqtt/host.ts'
import type { TrafficRate } from '../rate-limits.ts'
import type { GatewaySettings } from '../settings.ts'

export interface HostDeps {
  settings: GatewaySettings
  tenantRate: TrafficRate
  log: Kit['log']
  clients: Clients
  identify: Identify
  bindings: Bindings
  dispatch: Dispatch
  limits: ConnectionLimits
  tokenLockout: AddressLockout
  trafficLog: Pick<TrafficLog, 'recordRefusal'>
  metrics: GatewayMetrics
  mayDeliver: NonNullable<Host<ConnectionState>['mayDeliver']>
  /** Called when a connection was opened. */
  opened(connection: DeviceConnection): void
  closed(connection: DeviceConnection): void
}

export interface HostParts extends HostDeps {
  perConnection: TrafficRate
  /** Closes connections that stay anonymous for too long. */
  anonymousTimeout: AnonymousTimeout
}
