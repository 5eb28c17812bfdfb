/**
 * Holds the triggers of all tenants in memory, by application, version and endpoint, so that only the triggers that may match an event are
 * examined.
 */
import type { EventOrigin } from '../../../kernel/bus.ts'
import { type TriggerDefinition, type TriggerType, triggerTypes } from '../model.ts'
import type { AlertPayload, CommandPayload, MetadataPayload, RuleEvent, SeriesPayload } from './events/rule-event.ts'

/** A trigger with the enabled rules that it starts. */
export interface IndexedTrigger {
  trigger: TriggerDefinition
  ruleIds: string[]
}

export interface TriggerIndex {
  /** Adds a trigger or replaces it. A trigger without rules is removed. */
  put(trigger: TriggerDefinition, ruleIds: string[]): void
  remove(triggerId: string): void
  /** Returns whether a trigger of this type may match events of this origin. Unknown members of the origin match every trigger. */
  wants(type: TriggerType, origin: EventOrigin): boolean
  /** Returns the triggers that an event matches, each once. */
  match(tenantId: string, event: RuleEvent): IndexedTrigger[]
  /** Returns a trigger with its rules; undefined if the trigger does not exist or has no enabled rules. */
  get(triggerId: string): IndexedTrigger | undefined
  ofType(type: TriggerType): Iterable<IndexedTrigger>
  readonly size: number
}

type Group = Map<string, IndexedTrigger>

/** The triggers of one type. */
interface TypeIndex {
  all: Group
  byApplication: Map<string, Group>
  byVersion: Map<string, Group>
  byEndpoint: Map<string, Group>
  /** Triggers by tenant, for origins whose application or endpoint is unknown, and for events of the tenant itself. */
  byTenant: Map<string, Group>
  /** Number of triggers that name a version, by tenant. */
  versionsOfTenant: Map<string, number>
}

const newTypeIndex = (): TypeIndex => ({
  all: new Map(),
  byApplication: new Map(),
  byVersion: new Map(),
  byEndpoint: new Map(),
  byTenant: new Map(),
  versionsOfTenant: new Map(),
})

export function createTriggerIndex(): TriggerIndex {
  const types = new Map(triggerTypes.map((type) => [type, newTypeIndex()]))
  const byId: Group = new Map()

  function remove(triggerId: string) {
    const indexed = byId.get(triggerId)
    if (!indexed) return
    byId.delete(triggerId)
    const { trigger } = indexed
    const type = types.get(trigger.type)!
    type.all.delete(triggerId)
    for (const [groups, key] of groupsOf(type, trigger)) {
      const group = groups.get(key)
      group?.delete(triggerId)
      if (group?.size === 0) groups.delete(key)
    }
    countVersions(type, trigger, -1)
  }

  return {
    remove,
    put(trigger, ruleIds) {
      remove(trigger.id)
      if (ruleIds.length === 0) return
      const indexed = { trigger, ruleIds }
      byId.set(trigger.id, indexed)
      const type = types.get(trigger.type)!
      type.all.set(trigger.id, indexed)
      for (const [groups, key] of groupsOf(type, trigger)) {
        const group = groups.get(key)
        if (group) group.set(trigger.id, indexed)
        else groups.set(key, new Map([[trigger.id, indexed]]))
      }
      countVersions(type, trigger, 1)
    },
    wants: (type, origin) => mayMatch(types.get(type)!, origin),
    match: (tenantId, event) => matching(types.get(event.type)!, tenantId, event),
    get: (triggerId) => byId.get(triggerId),
    ofType: (type) => types.get(type)!.all.values(),
    get size() {
      return byId.size
    },
  }
}

/** Returns the groups that a trigger belongs to. */
function groupsOf(type: TypeIndex, trigger: TriggerDefinition): [groups: Map<string, Group>, key: string][] {
  const { tenantId, appName, appVersionName, endpointIds } = trigger
  return [
    [type.byTenant, tenantId],
    ...(appName !== undefined ? [[type.byApplication, appName] as [Map<string, Group>, string]] : []),
    ...(appVersionName !== undefined ? [[type.byVersion, appVersionName] as [Map<string, Group>, string]] : []),
    ...[...new Set(endpointIds)].map((endpointId): [Map<string, Group>, string] => [type.byEndpoint, endpointId]),
  ]
}

function countVersions({ versionsOfTenant }: TypeIndex, { tenantId, appVersionName }: TriggerDefinition, by: number) {
  if (appVersionName === undefined) return
  const count = (versionsOfTenant.get(tenantId) ?? 0) + by
  if (count === 0) versionsOfTenant.delete(tenantId)
  else versionsOfTenant.set(tenantId, count)
}

function mayMatch(type: TypeIndex, { tenantId, applicationName, versionName, endpointId }: EventOrigin): boolean {
  if (type.all.size === 0) return false
  // An origin without an application or an endpoint describes the events of several endpoints, or an event of the tenant itself.
  if (applicationName === undefined || endpointId === undefined) return type.byTenant.has(tenantId)
  if (type.byApplication.has(applicationName) || type.byEndpoint.has(endpointId)) return true
  return versionName === undefined ? type.versionsOfTenant.has(tenantId) : type.byVersion.has(versionName)
}

function matching(type: TypeIndex, tenantId: string, event: RuleEvent): IndexedTrigger[] {
  const found: IndexedTrigger[] = []
  const add = (group: Group | undefined) => {
    for (const indexed of group?.values() ?? [])
      if (indexed.trigger.tenantId === tenantId && matchesFields(indexed.trigger, event)) found.push(indexed)
  }
  const { endpoint } = event
  if (event.triggerId !== undefined) {
    const indexed = type.all.get(event.triggerId)
    return indexed?.trigger.tenantId === tenantId ? [indexed] : []
  }
  // An alert of the tenant has no endpoint. It matches every trigger, whichever application, version or endpoints the trigger names
  // (document 5, 5.7).
  if (!endpoint) add(type.byTenant.get(tenantId))
  else {
    add(type.byApplication.get(endpoint.applicationName))
    if (endpoint.versionName !== undefined) add(type.byVersion.get(endpoint.versionName))
    add(type.byEndpoint.get(endpoint.endpointId))
  }
  return found
}

/** Returns whether the list includes the value. An absent or empty list includes everything. */
const includes = (list: unknown, value: string) =>
  !Array.isArray(list) || list.length === 0 || (list as string[]).includes(value)

/** Returns whether an event matches the fields of the trigger's type. */
function matchesFields({ type, fields }: TriggerDefinition, { payload }: RuleEvent): boolean {
  switch (type) {
    case 'endpoint-metadata-updated':
      return matchesKeys(fields.metadataKeys, payload as MetadataPayload)
    case 'endpoint-time-series-updated':
      return Object.keys(payload as SeriesPayload).some((name) => includes(fields.timeSeriesNames, name))
    case 'endpoint-command-dispatched':
    case 'endpoint-command-result-received':
      return fields.commandType === undefined || fields.commandType === (payload as CommandPayload).commandType
    case 'alert-lifecycle-event': {
      const { eventType, alert } = payload as AlertPayload
      return (
        includes(fields.eventTypes, eventType) &&
        includes(fields.alertTypes, alert.alertType) &&
        includes(fields.severityLevels, alert.severityLevel)
      )
    }
    default:
      return true
  }
}

function matchesKeys(keys: unknown, { added, updated, removed }: MetadataPayload): boolean {
  if (!Array.isArray(keys) || keys.length === 0) return true
  return (keys as string[]).some(
    (key) => Object.hasOwn(added, key) || Object.hasOwn(updated, key) || Object.hasOwn(removed, key),
  )
}

/** Returns the part of an event that the script of this trigger gets. For time series, these are only the series that the trigger names. */
export function payloadFor({ type, fields }: TriggerDefinition, payload: unknown): unknown {
  if (type !== 'endpoint-time-series-updated' || !Array.isArray(fields.timeSeriesNames)) return payload
  return Object.fromEntries(
    Object.entries(payload as SeriesPayload).filter(([name]) => includes(fields.timeSeriesNames, name)),
  )
}
