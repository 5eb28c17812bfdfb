/** The part of the service that runs rules. README.md explains it. */
import type { Identity } from '../../../identity/contract.ts'
import type { Sql, TransactionSql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { Sandbox } from '../../../sandbox/sandbox.ts'
import type { Configuration } from '../../configuration/contract.ts'
import type { Register } from '../../register/contract.ts'
import { TenantDeleted } from '../../tenants/events.ts'
import type { TimeSeries } from '../../time-series/contract.ts'
import type { TrafficLog } from '../../traffic-log/contract.ts'
import type { ActionOutcome, ActionRun, Executor, RunOfAction } from '../actions/executor.ts'
import type { Changes } from '../definitions/changes.ts'
import { partitionsFailed } from '../log-messages.ts'
import type { ActionType } from '../model.ts'
import type { Part } from '../part.ts'
import type { RulesSettings } from '../settings.ts'
import { createChains } from './chains.ts'
import type { HostDeps } from './context/host.ts'
import { createHttpClient } from './context/http-client.ts'
import { createScheduler } from './cron/scheduler.ts'
import { derivedId } from './derived-ids.ts'
import { createProcessor } from './events/process.ts'
import { createQueue } from './events/queue.ts'
import { createRecorder } from './events/recorder.ts'
import { createLedger } from './ledger.ts'
import { createLibrary } from './library.ts'
import { createTracePartitions } from './partitions.ts'
import { type EngineOperations, engineRoutes } from './routes.ts'
import { createRunner, type RuleRun, type RunnerDeps, type RunState } from './run.ts'
import { createDeadLetters } from './service/dead-letters.ts'
import type { EngineDeps } from './service/deps.ts'
import { createExecutions } from './service/executions.ts'
import { createReplays, type Replays } from './service/replays.ts'
import { createTraceQueries } from './service/trace-queries.ts'
import { createTry } from './service/tries.ts'
import { findOwners, takeOver } from './store/events.ts'
import { deleteOldReplays } from './store/replays.ts'
import { deleteOldTicks } from './store/ticks.ts'
import { addUpChanges, changesPerStatement, deleteOfTenant } from './store/traces.ts'
import type { EndedActions } from './traces.ts'

export interface EnginePartDeps extends Pick<HostDeps, 'secretValue'>, Pick<RunnerDeps, 'maskOf'> {
  kit: Kit<RulesSettings>
  identity: Pick<Identity, 'callerNow'>
  register: Register
  timeSeries: TimeSeries
  configuration: Configuration
  trafficLog: Pick<TrafficLog, 'inbound'>
  sandbox: Pick<Sandbox, 'run' | 'runThen' | 'check'>
  changes: Pick<Changes, 'onChange'>
}

export interface EnginePart extends Part {
  /** Writes traces of actions that end after their rule. */
  traces: EndedActions
  /** Sets the executors. They are created after the engine, because they need `executeRule` and `traces`. */
  use(executors: Partial<Record<ActionType, Executor>>): void
  /** Executes a rule one level deeper in the chain of the run. */
  executeRule(ruleId: string, run: ActionRun): Promise<ActionOutcome>
  /** Resolves when no event waits or runs on this node, for tests. */
  settled(): Promise<void>
}

const addUpSeconds = 2

async function addUpAll(sql: TransactionSql) {
  while ((await addUpChanges(sql)) === changesPerStatement);
}

async function deleteOld(sql: Sql) {
  await deleteOldTicks(sql)
  await deleteOldReplays(sql)
}

export function createEngine(services: EnginePartDeps): EnginePart {
  const { kit } = services
  const library = createLibrary({ ...kit, changes: services.changes })
  const ledger = createLedger(kit)
  const partitions = createTracePartitions(kit, kit.settings.traceDays)
  let executors: Partial<Record<ActionType, Executor>> = {}
  const contexts = new WeakMap<RunOfAction, { run: RuleRun; state: RunState }>()
  const host: HostDeps = { ...services, http: createHttpClient(kit) }
  const run = createRunner({
    ...host,
    kit,
    sandbox: services.sandbox,
    chains: createChains(),
    actionOf: library.action,
    executors: () => executors,
    callerOf: services.identity.callerNow,
    nextMicros: ledger.nextMicros,
    maskOf: services.maskOf,
    onAction: (actionRun, ruleRun, state) => void contexts.set(actionRun, { run: ruleRun, state }),
  })
  const processor = createProcessor({ kit, library, register: services.register, run, ledger })
  const queue = createQueue({
    kit,
    run: processor.run,
    ended: (row) => ledger.write({ endedRow: row.id }),
    reject: (row) => processor.reject(row, 'the queue is full: too many events of this tenant are waiting'),
  })
  const recorder = createRecorder(kit, library, queue.add)
  const scheduler = createScheduler(kit, { library, register: services.register, recorder })
  const deps: EngineDeps = { ...services, host, library, ledger, run }
  const replays = createReplays({ ...deps, trafficLog: services.trafficLog, callerOf: services.identity.callerNow })
  declareRows(kit, queue.load, replays)
  // A restored database may lack the partitions for today.
  kit.bus.onReset(() => void partitions.prepare().catch((error) => partitionsFailed(kit.log, { err: error })))
  kit.bus.handle('rules.delete-traces', TenantDeleted, (sql, { tenantId }) => deleteOfTenant(sql, tenantId))
  const operations: EngineOperations = {
    executions: createExecutions(deps),
    traces: createTraceQueries(deps),
    tryRule: createTry(deps),
    replays,
    deadLetters: createDeadLetters(deps, recorder),
  }
  return {
    traces: ledger.actions,
    use(given) {
      executors = given
    },
    executeRule: (ruleId, action) => executeRule(deps, contexts, ruleId, action),
    settled: queue.settled,
    routes: (http) => engineRoutes(http, operations),
    periodic: [
      { name: 'rules.partitions', everySeconds: 3600, run: partitions.renew },
      { name: 'rules.delete-ticks', everySeconds: 3600, run: deleteOld },
      { name: 'rules.statistics', everySeconds: addUpSeconds, run: addUpAll },
    ],
    async start() {
      await partitions.prepare()
      await library.start()
      scheduler.start()
    },
    async stop() {
      await scheduler.stop()
      await replays.stop()
      await queue.stop()
      await ledger.drained()
      await library.stop()
    },
  }
}

/** Takes over the events of nodes that have died. */
function declareRows({ db, members }: Pick<Kit, 'db' | 'members'>, load: (tenantId: string) => void, replays: Replays) {
  members.declareOwnedRows({
    name: 'rules.events',
    owners: findOwners,
    async sweep(nodeId) {
      for (const tenantId of await takeOver(db.sql, nodeId, members.nodeId)) load(tenantId)
      await replays.takeOver(nodeId)
    },
  })
}

/**
 * Runs a rule with the trigger, endpoint and data of the rule that executes it. The traces are added to the result of the executing rule.
 */
async function executeRule(
  { library, run }: EngineDeps,
  contexts: WeakMap<RunOfAction, { run: RuleRun; state: RunState }>,
  ruleId: string,
  { run: actionRun }: ActionRun,
): Promise<ActionOutcome> {
  const context = contexts.get(actionRun)
  const rule = library.rule(actionRun.tenantId, ruleId)
  if (!context || !rule) {
    const reason = `there is no rule ${ruleId}`
    return { outcome: 'FAILURE', stage: 'ACTION_EXECUTION', reason }
  }
  const { onRuleEnded: _, ...parent } = context.run
  const { result: parentResult, payload: _payload, ...state } = context.state
  const result = await run({
    ...parent,
    rule,
    ...state,
    depth: actionRun.depth + 1,
    id: derivedId(parent.at, actionRun.id, ruleId),
  })
  parentResult.traces.push(...result.traces)
  parentResult.pending.push(...result.pending)
  parentResult.unsettled.push(...result.unsettled)
  const [trace] = result.traces
  const metadata = { executedRuleId: ruleId }
  if (result.isSuccess) return { outcome: 'SUCCESS', metadata }
  return { outcome: 'FAILURE', stage: trace!.stage!, reason: trace!.reason!, metadata }
}
