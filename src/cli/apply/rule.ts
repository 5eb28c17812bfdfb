/** Rules with their triggers and actions, which documents name by type and name. */
import type { Client } from '../../../sdk/src/index.ts'
import { CommandError } from '../api/errors.ts'
import { type Fields, type Found, fieldsFor, type Kind, moved, textField } from './kind.ts'

/** A trigger or action as documents name it. */
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

const listOf = (value: unknown): Linked[] =>
  (Array.isArray(value) ? value : ((value as { content?: unknown[] })?.content ?? [])) as Linked[]

const typeOf = ({ type }: { type: string }) =>
  type
    .toLowerCase()
    .replaceAll('_', '-')
    .replace(/-(action|trigger)$/, '')

const nameOf = (linked: Linked): Named => ({ type: typeOf(linked), name: linked.name })

export const rule: Kind = {
  name: 'rule',
  identity: ['name'],
  keyOf,
  async *list(client) {
    for await (const { id } of client.list<{ id: string }>('rules.list')) {
      const { body, etag } = await client.call('rules.get', { ruleId: id })
      const links = await linksOf(client, id)
      const named = linkNames.filter((name) => links[name].length > 0).map((name) => [name, links[name].map(nameOf)])
      const fields = { ...fieldsFor('rules.create', body as Fields), ...Object.fromEntries(named) }
      yield { key: keyOf(fields), args: { ruleId: id }, fields, etag }
    }
  },
  async create(client, fields) {
    const { location } = await client.call('rules.create', { body: withoutLinks(fields) })
    await link(client, location!.split('/').at(-1)!, fields)
  },
  async update(client, { args, etag }, fields) {
    const body = fieldsFor('rules.update', fields)
    const answer = await client.call('rules.update', { ...args, body }, etag === undefined ? {} : { ifMatch: etag })
    if (answer.status === 412) throw moved('rule', keyOf(fields))
    await link(client, args.ruleId as string, fields)
  },
  async delete(client, { args }: Found) {
    await client.call('rules.delete', args)
  },
}

const withoutLinks = ({ triggers, positiveActions, negativeActions, ...fields }: Fields) => fields

/** Sets the links of a rule, type by type. Types that no longer have a link are emptied. */
async function link(client: Client, ruleId: string, fields: Fields) {
  const present = await linksOf(client, ruleId)
  const wanted = {
    triggers: namedIn(fields, 'triggers'),
    positiveActions: namedIn(fields, 'positiveActions'),
    negativeActions: namedIn(fields, 'negativeActions'),
  }
  const triggerTypes = new Set([...present.triggers.map(typeOf), ...wanted.triggers.map(typeOf)])
  for (const triggerType of triggerTypes) {
    const body = await idsOf(client, 'trigger', triggerType, wanted.triggers)
    await client.call('rules.triggers.update', { ruleId, triggerType, body })
  }
  const linked = [present.positiveActions, present.negativeActions, wanted.positiveActions, wanted.negativeActions]
  for (const actionType of new Set(linked.flat().map(typeOf))) {
    const positiveActionIds = await idsOf(client, 'action', actionType, wanted.positiveActions)
    const negativeActionIds = await idsOf(client, 'action', actionType, wanted.negativeActions)
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

async function idsOf(client: Client, what: 'trigger' | 'action', type: string, wanted: Named[]): Promise<string[]> {
  const ofType = wanted.filter((one) => typeOf(one) === type)
  if (ofType.length === 0) return []
  const noun = `${type.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}${what === 'action' ? 'Actions' : 'Triggers'}`
  const ids = new Map<string, string[]>()
  for await (const { id, name } of client.list<Linked>(`${noun}.list`)) ids.set(name, [...(ids.get(name) ?? []), id])
  return ofType.map(({ name }) => {
    const [id, ...others] = ids.get(name) ?? []
    if (id === undefined) throw new CommandError(`there is no ${type} ${what} named ${name}`)
    if (others.length > 0) throw new CommandError(`several ${type} ${what}s are named ${name}; rename one`)
    return id
  })
}
