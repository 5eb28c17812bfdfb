/** The kind of rules. Documents refer to their triggers and actions by type and name. */
import { isDeepStrictEqual } from 'node:util'
import { describe } from '../../../sdk/src/descriptions.ts'
import type { Client } from '../../../sdk/src/index.ts'
import { CommandError } from '../api/errors.ts'
import { visible } from '../api/visible.ts'
import {
  bodyFields,
  changedSincePlan,
  type Fields,
  type Found,
  fieldsFor,
  idByName,
  type Kind,
  requireVersion,
  stepKey,
  textField,
} from './kind.ts'

/** A trigger or action, as documents refer to it. */
interface Named {
  type: string
  name: string
}

interface Linked extends Named {
  id: string
}

interface Links {
  triggers: Linked[]
  positiveActions: Linked[]
  negativeActions: Linked[]
}

const linkNames = ['triggers', 'positiveActions', 'negativeActions'] as const

const keyOf = (fields: Fields) => textField('rule', fields, 'name')

async function linksOf(client: Client, ruleId: unknown): Promise<Links> {
  const triggers = listOf((await client.call('rules.triggers.list', { ruleId })).body)
  const { positiveActions, negativeActions } = (await client.call('rules.actions.list', { ruleId })).body as Fields
  return { triggers, positiveActions: listOf(positiveActions), negativeActions: listOf(negativeActions) }
}

/** Returns the links without actions that run a deleted rule. Such actions do nothing, and no document can describe them. */
async function effectiveLinksOf(client: Client, ruleId: string): Promise<Links> {
  const { triggers, ...actions } = await linksOf(client, ruleId)
  const effective = async (list: Linked[]) => {
    const kept = await Promise.all(
      list.map(async (one) => typeOf(one) !== 'rule-execution' || (await hasRule(client, one))),
    )
    return list.filter((_, index) => kept[index])
  }
  return {
    triggers,
    positiveActions: await effective(actions.positiveActions),
    negativeActions: await effective(actions.negativeActions),
  }
}

async function hasRule(client: Client, { id: actionId }: Linked): Promise<boolean> {
  try {
    const { body } = await client.call('ruleExecutionActions.get', { actionId })
    await client.call('rules.get', { ruleId: (body as Fields).ruleId })
    return true
  } catch (error) {
    if ((error as { status?: number }).status === 404) return false
    throw error
  }
}

const listOf = (value: unknown): Linked[] =>
  (Array.isArray(value) ? value : ((value as { content?: unknown[] })?.content ?? [])) as Linked[]

const typeOf = ({ type }: { type: string }) =>
  type
    .toLowerCase()
    .replaceAll('_', '-')
    .replace(/-(action|trigger)$/, '')

/**
 * Sorts the triggers or actions of a rule by type and name, and leaves out repeated ones: their order in documents does not matter, but the
 * API keeps an order.
 */
const sorted = (links: Named[]): Named[] =>
  [...new Map(links.map((one) => [JSON.stringify([typeOf(one), one.name]), one])).values()]
    .map((one) => ({ type: typeOf(one), name: one.name }))
    .toSorted((a, b) => (`${a.type} ${a.name}` < `${b.type} ${b.name}` ? -1 : 1))

async function read(client: Client, ruleId: string): Promise<Found> {
  const { body, etag } = await client.call('rules.get', { ruleId })
  const links = await effectiveLinksOf(client, ruleId)
  const named = linkNames.filter((name) => links[name].length > 0).map((name) => [name, sorted(links[name])])
  const fields = { ...fieldsFor('rules.create', body as Fields), ...Object.fromEntries(named) }
  return { key: keyOf(fields), identity: ruleId, args: { ruleId }, fields, etag }
}

export const rule: Kind = {
  name: 'rule',
  fields: () => [...bodyFields('rules.create'), ...linkNames.map((name) => ({ name, required: false }))],
  identity: ['name'],
  defaults: { state: 'ENABLED' },
  keyOf,
  normalize(fields) {
    const presentLinks = linkNames.filter((name) => fields[name] !== undefined)
    const links = presentLinks.map((name) => [name, sorted(namedIn(fields, name))] as const)
    for (const [field, list] of links) for (const { type } of list) requireType(fields, field, type)
    // An empty list of links counts as an absent field.
    return { ...fields, ...Object.fromEntries(links.map(([name, list]) => [name, list.length > 0 ? list : null])) }
  },
  references: (fields) =>
    linkNames.flatMap((field) => {
      return namedIn(fields, field).map((one) => stepKey(`${typeOf(one)}-${partOf(field)}`, one.name))
    }),
  async *list(client) {
    for await (const { id } of client.list<{ id: string }>('rules.list')) yield await read(client, id)
  },
  async create(client, fields, options) {
    await client.call('rules.create', { body: withoutLinks(fields) }, options)
  },
  async update(client, { args, fields: planned }, fields) {
    // Earlier steps may have changed the rule's triggers and actions, and thereby its version, so the ETag of the plan is not used.
    const { fields: present, etag } = await read(client, args.ruleId as string)
    if (!isDeepStrictEqual(present, planned)) throw changedSincePlan('rule', keyOf(fields))
    const body = fieldsFor('rules.update', fields)
    const answer = await client.call('rules.update', { ...args, body }, etag === undefined ? {} : { ifMatch: etag })
    requireVersion(answer, 'rule', keyOf(fields))
  },
  // Links are set after all objects exist, because an action can run a rule whose actions run this rule.
  async complete(client, fields) {
    for await (const { id, name } of client.list<Linked>('rules.list', { name: keyOf(fields) }))
      if (name === keyOf(fields)) await link(client, id, fields)
  },
  async delete(client, { args }: Found) {
    await client.call('rules.delete', args)
  },
}

type Part = 'trigger' | 'action'

const partOf = (field: string): Part => (field === 'triggers' ? 'trigger' : 'action')

/** Returns the noun of the operations for a type: `cronTriggers`. */
const nounOf = (type: string, part: Part) =>
  `${type.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}${part === 'action' ? 'Actions' : 'Triggers'}`

/** Throws for a type that the platform does not have. */
function requireType(fields: Fields, field: string, type: string) {
  if (describe(`${nounOf(type, partOf(field))}.list`) !== undefined) return
  throw new CommandError(`rule ${keyOf(fields)}: ${field}: there is no type ${visible(type)} of ${partOf(field)}s`, 2)
}

const withoutLinks = ({ triggers, positiveActions, negativeActions, ...fields }: Fields) => fields

/** Sets the links of a rule, type by type. Types that no longer have a link get an empty list. */
async function link(client: Client, ruleId: string, fields: Fields) {
  const present = await linksOf(client, ruleId)
  const declaredRule = {
    triggers: namedIn(fields, 'triggers'),
    positiveActions: namedIn(fields, 'positiveActions'),
    negativeActions: namedIn(fields, 'negativeActions'),
  }
  const triggerTypes = new Set([...present.triggers.map(typeOf), ...declaredRule.triggers.map(typeOf)])
  for (const triggerType of triggerTypes) {
    const body = await idsOf(client, 'trigger', triggerType, declaredRule.triggers)
    await client.call('rules.triggers.update', { ruleId, triggerType, body })
  }
  const linked = [
    present.positiveActions,
    present.negativeActions,
    declaredRule.positiveActions,
    declaredRule.negativeActions,
  ]
  for (const actionType of new Set(linked.flat().map(typeOf))) {
    const positiveActionIds = await idsOf(client, 'action', actionType, declaredRule.positiveActions)
    const negativeActionIds = await idsOf(client, 'action', actionType, declaredRule.negativeActions)
    await client.call('rules.actions.update', { ruleId, actionType, body: { positiveActionIds, negativeActionIds } })
  }
}

function namedIn(fields: Fields, field: string): Named[] {
  const value = fields[field] ?? []
  const isNamed = (one: unknown): one is Named =>
    typeof one === 'object' &&
    one !== null &&
    typeof (one as Named).type === 'string' &&
    typeof (one as Named).name === 'string'
  if (Array.isArray(value) && value.every(isNamed)) return value
  throw new CommandError(`rule ${keyOf(fields)}: ${field}: expected a list of {type, name}`, 2)
}

async function idsOf(client: Client, part: Part, type: string, names: Named[]): Promise<string[]> {
  const ofType = names.filter((one) => typeOf(one) === type)
  if (ofType.length === 0) return []
  const objects = await Array.fromAsync(client.list<Linked>(`${nounOf(type, part)}.list`))
  return ofType.map(({ name }) => idByName(`${type} ${part}`, objects, name))
}
