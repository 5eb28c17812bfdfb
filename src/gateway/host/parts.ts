/** What the functions of MQTT's end of the gateway work with. */
import type { Kit } from '../../kernel/define-service.ts'
import type { TrafficLog } from '../../services/traffic-log/contract.ts'
import type { Bindings } from '../bindings.ts'
import type { Clients } from '../clients.ts'
import type { ConnectionLimits } from '../connection-limits.ts'
import type { Dispatch } from '../dispatch.ts'
import type { Identify } from '../identify.ts'
import type { Guesses, TrafficRate } from '../limits.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { Host } from '../mqtt/host.ts'
import type { Patience } from '../patience.ts'
import type { Device, Peer } from '../peers.ts'
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
  guesses: Guesses
  trafficLog: Pick<TrafficLog, 'refuse'>
  metrics: GatewayMetrics
  mayDeliver: NonNullable<Host<Peer>['mayDeliver']>
  /** A connection was opened. */
  opened(connection: Device): void
  closed(connection: Device): void
}

export interface HostParts extends HostDeps {
  perConnection: TrafficRate
  /** Closes connections that stay anonymous for too long. */
  patience: Patience
}
