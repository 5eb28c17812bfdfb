import { Identity } from '../../identity/contract.ts'
import { defineInstance } from '../../kernel/configuration.ts'
import { defineService } from '../../kernel/define-service.ts'
import { createSandbox } from '../../sandbox/sandbox.ts'
import { Applications } from '../applications/contract.ts'
import { Commands } from '../commands/contract.ts'
import { Configuration } from '../configuration/contract.ts'
import { Register } from '../register/contract.ts'
import { TimeSeries } from '../time-series/contract.ts'
import { TrafficLog } from '../traffic-log/contract.ts'
import { createActions } from './actions/part.ts'
import { createAlerts } from './alerts/alerts.ts'
import { Rules } from './contract.ts'
import { createDefinitions } from './definitions/definitions.ts'
import { ruleWorld } from './engine/context/world.ts'
import { createEngine } from './engine/engine.ts'
import { sandboxFailed } from './log-messages.ts'
import type { Part } from './part.ts'
import { rulesScopes } from './scopes.ts'
import { rulesSettings } from './settings.ts'

export default defineService({
  name: 'rules',
  provides: Rules,
  needs: {
    identity: Identity,
    applications: Applications,
    register: Register,
    timeSeries: TimeSeries,
    trafficLog: TrafficLog,
    commands: Commands,
    configuration: Configuration,
  },
  migrations: new URL('./migrations/', import.meta.url),
  sealed: [
    { table: 'deliveries', column: 'content' },
    { table: 'secrets', column: 'value' },
  ],
  instances: [
    defineInstance({ name: 're', group: 'Command invocation', description: 'Rules engine', urlPrefix: '/re' }),
  ],
  settings: rulesSettings,
  scopes: rulesScopes,
  build(kit, services) {
    const sandbox = createSandbox({
      worlds: { rule: ruleWorld },
      onError: (error) => sandboxFailed(kit.log, { err: error }),
    })
    const definitions = createDefinitions({ kit, ...services, check: sandbox.check })
    const alerts = createAlerts({ kit, ...services })
    const engine = createEngine({ kit, ...services, ...definitions.secrets, sandbox, changes: definitions })
    const { traces, executeRule } = engine
    const actions = createActions({
      kit,
      ...services,
      ...definitions.secrets,
      alerts: alerts.api,
      executeRule,
      traces,
    })
    engine.use(actions.executors)
    const parts: Part[] = [definitions, alerts, actions, engine]
    return {
      api: {},
      http: [
        {
          name: 'rules',
          title: 'Rules, actions, triggers and alerts',
          roots: ['/re/api/v1'],
          routes(http) {
            for (const part of parts) part.routes?.(http)
          },
        },
      ],
      periodic: parts.flatMap(({ periodic = [] }) => periodic),
      async start() {
        for (const part of parts) await part.start?.()
      },
      async stop() {
        for (const part of parts.toReversed()) await part.stop?.()
        await sandbox.stop()
      },
    }
  },
})
