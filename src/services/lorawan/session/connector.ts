/** Puts together the parts that communicate with networks: sessions, uplinks, downlinks, statistics. */
import type { Gateway } from '../../../gateway/contract.ts'
import type { Identity } from '../../../identity/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { PeriodicTask } from '../../../kernel/periodic.ts'
import type { Commands } from '../../commands/contract.ts'
import type { TrafficLog } from '../../traffic-log/contract.ts'
import type { Codecs } from '../codecs.ts'
import { deleteOldDownlinks } from '../store/downlinks.ts'
import { deleteOldUplinks } from '../store/uplinks.ts'
import { parseTopic } from '../uplink-message.ts'
import { createCarrier } from './carrier.ts'
import { createDevices } from './devices.ts'
import { createDownlinks } from './downlinks.ts'
import { createSessions } from './sessions.ts'
import { createStatistics } from './statistics.ts'
import { createUplinks } from './uplinks.ts'

export interface ConnectorDeps {
  kit: Kit
  identity: Identity
  gateway: Gateway
  commands: Commands
  trafficLog: TrafficLog
  codecs: Codecs
}

export interface Connector {
  start(): void
  stop(): Promise<void>
  periodic: PeriodicTask[]
}

const rowsPerDeletion = 10_000
/** Downlinks are deleted after this time. The network no longer reports on them then. */
const downlinkDays = 30

export function createConnector(deps: ConnectorDeps): Connector {
  const { kit, commands } = deps
  const statistics = createStatistics(kit)
  const handleUplink = createUplinks({ ...deps, devices: createDevices(kit), statistics })
  const downlinks = createDownlinks({ ...deps, statistics })
  const sessions = createSessions({
    kit,
    identity: deps.identity,
    async handle(publisher, topic, payload) {
      const parsed = parseTopic(topic, publisher.username)
      if (parsed?.kind === 'up') await handleUplink(publisher.appIntegrationId, parsed.netDeviceId, payload)
      else if (parsed && payload) await downlinks.report(publisher, parsed.status, payload)
    },
    connected: downlinks.startAll,
  })
  commands.addCarrier(createCarrier(kit, { sessions, downlinks }))
  return {
    start: sessions.start,
    async stop() {
      await sessions.stop()
      await downlinks.settled()
      await statistics.stop()
    },
    periodic: [
      {
        name: 'lorawan.forget-old',
        everySeconds: 60,
        async run() {
          while ((await deleteOldUplinks(kit.db.sql, rowsPerDeletion)) === rowsPerDeletion);
          while ((await deleteOldDownlinks(kit.db.sql, downlinkDays, rowsPerDeletion)) === rowsPerDeletion);
        },
      },
    ],
  }
}
