/**
 * Runs the executors of rule actions without the rule engine. The test passes the results of expressions, and the fixture records traces.
 */
import { contract } from '../../src/kernel/contract.ts'
import { defineService, type Kit } from '../../src/kernel/define-service.ts'
import { newId } from '../../src/kernel/ids.ts'
import { Commands } from '../../src/services/commands/contract.ts'
import commands from '../../src/services/commands/index.ts'
import { type EndpointRef, Register } from '../../src/services/register/contract.ts'
import type { ActionOutcome, ActionRun } from '../../src/services/rules/actions/executor.ts'
import { type ActionsPart, createActions } from '../../src/services/rules/actions/part.ts'
import { createAlerts } from '../../src/services/rules/alerts/alerts.ts'
import { valueOfLiteral } from '../../src/services/rules/definitions/action-types.ts'
import type { Retries } from '../../src/services/rules/deliveries/model.ts'
import type { Limits } from '../../src/services/rules/deliveries/state.ts'
import type { EndedAction } from '../../src/services/rules/engine/traces.ts'
import type { ActionType } from '../../src/services/rules/model.ts'
import { type RulesSettings, rulesSettings } from '../../src/services/rules/settings.ts'
import tenants from '../../src/services/tenants/index.ts'
import { TimeSeries } from '../../src/services/time-series/contract.ts'
import timeSeries from '../../src/services/time-series/index.ts'
import { openGateway, services } from './gateway.ts'
import type { TestPlatformOptions } from './test-platform.ts'

const Actions = contract<ActionsPart>('rules')

export interface ActionsOptions {
  limits?: Limits
  emailRetries?: Retries
}

/** Builds a service with the tables of rules and the executors of actions, but without the rule engine. */
function actionsService(traces: EndedAction[], secrets: Map<string, string>, options: ActionsOptions) {
  return defineService({
    name: 'rules',
    provides: Actions,
    needs: { register: Register, commands: Commands, timeSeries: TimeSeries },
    migrations: new URL('../../src/services/rules/migrations/', import.meta.url),
    settings: rulesSettings,
    build(kit: Kit<RulesSettings>, given) {
      const alerts = createAlerts({ kit, ...given })
      const part = createActions({
        kit,
        ...given,
        alerts: alerts.api,
        traces: {
          async ended(sql, actions) {
            kit.db.afterCommit(sql, () => traces.push(...actions))
          },
          async write(action) {
            traces.push(action)
          },
          isEnded: async ({ id }) => traces.some(({ action }) => action.id === id),
        },
        secretValue: async (_tenantId, name) => secrets.get(name),
        executeRule: async (ruleId, { run }) => ({ outcome: 'SUCCESS', metadata: { ruleId, depth: run.depth } }),
        ...options,
      })
      return {
        api: part,
        http: [{ name: 'rules', roots: ['/re/api/v1'], routes: (http) => alerts.routes?.(http) }],
        ...(part.stop && { stop: part.stop }),
      }
    },
  })
}

export interface GivenRun {
  fields?: Record<string, unknown>
  /** Results of expressions by attribute. */
  results?: Record<string, unknown>
  /** Expressions that fail. Key: attribute. Value: the reason of the failure. */
  failing?: Record<string, string>
  endpoint?: EndpointRef
  isTry?: boolean
  /** The id of the run of the action. If the rule runs again for the same event, the id is the same. */
  id?: string
  depth?: number
  traceId?: string
  storedEvent?: ActionRun['storedEvent']
}

export async function openActions(options: Partial<TestPlatformOptions> & ActionsOptions = {}) {
  const traces: EndedAction[] = []
  const secrets = new Map<string, string>()
  const { limits, emailRetries, environment, ...rest } = options
  const at = await openGateway({
    ...rest,
    services: [
      ...services,
      tenants,
      timeSeries,
      commands,
      actionsService(traces, secrets, { ...(limits && { limits }), ...(emailRetries && { emailRetries }) }),
    ],
    environment: { WAYPOST_ALLOW_PRIVATE_ADDRESSES: 'on', ...environment },
  })
  const part = at.waypost.ask(Actions)
  const start = (type: ActionType, input: GivenRun): Promise<ActionOutcome> =>
    part.executors[type](actionRun(type, input))
  return {
    ...at,
    traces,
    secrets,
    /** Returns the outcome of the executor, which may be PENDING. */
    start,
    /** Starts the action. If its outcome is PENDING, waits until the action ends. */
    async run(type: ActionType, given: GivenRun): Promise<Exclude<ActionOutcome, { outcome: 'PENDING' }>> {
      const outcome = await start(type, given)
      return outcome.outcome === 'PENDING' ? await outcome.ended! : outcome
    },
    async anEndpointRef(
      metadata: Record<string, unknown> = {},
      ask = at.admin,
    ): Promise<EndpointRef & { token: string }> {
      const { app, version } = await at.anApplication(['v1'], ask)
      const { body } = await ask('POST /epr/api/v1/endpoints', { appVersion: { name: version }, metadata })
      const { endpointId, token } = body
      const tenantId = ask === at.other ? 'other' : 'default'
      return { endpointId, token, tenantId, applicationName: app, versionName: version }
    },
  }
}

function actionRun(type: ActionType, run: GivenRun): ActionRun {
  const { fields = {}, results = {}, failing = {}, endpoint, isTry = false } = run
  return {
    action: {
      id: newId(),
      tenantId: 'default',
      type,
      name: 'action',
      fields: {
        ...Object.fromEntries(Object.keys({ ...results, ...failing }).map((key) => [key, 'return …'])),
        ...fields,
      },
      valueTypes: Object.fromEntries([
        ...Object.keys(fields).map((key) => [key, 'LITERAL']),
        ...Object.keys(results).map((key) => [key, 'SCRIPT']),
      ]),
      writer: { type: 'user', id: 'writer' },
    },
    run: {
      tenantId: 'default',
      ruleId: newId(),
      ruleVersion: 1,
      traceId: run.traceId ?? newId(),
      id: run.id ?? newId(),
      depth: run.depth ?? 1,
      eventId: newId(),
      ...(endpoint && { endpoint }),
      raisedOn: { entityType: endpoint ? 'ENDPOINT' : 'ON_DEMAND', entityId: endpoint?.endpointId ?? 'rule' },
      isTry,
    },
    async evaluate(attribute) {
      if (attribute in failing) return { ok: false, stage: 'EXPRESSION_EVALUATION', reason: failing[attribute]! }
      const literal = fields[attribute]
      const value =
        attribute in results
          ? results[attribute]
          : typeof literal === 'string'
            ? valueOfLiteral(type, attribute, literal)
            : literal
      // In the real engine, values enter and leave the sandbox as JSON.
      return { ok: true, value: value === undefined ? undefined : JSON.parse(JSON.stringify(value)) }
    },
    signal: new AbortController().signal,
    storedEvent: run.storedEvent,
  }
}
