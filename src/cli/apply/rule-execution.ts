/** The kind of actions that run another rule. Documents refer to the rule by its name, because ids differ between tenants. */
import type { Client } from '../../../sdk/src/index.ts'
import { type Fields, idByName, type Kind, kindOf, required, stepKey, textField } from './kind.ts'

const byId = kindOf({ name: 'rule-execution-action', noun: 'ruleExecutionActions' })

const rulesOf = (client: Client) => Array.fromAsync(client.list<{ id: string; name: string }>('rules.list'))

/** Returns the fields with the id of the rule instead of its name. */
async function withRuleId(client: Client, { rule: _, ...fields }: Fields, name: string): Promise<Fields> {
  return { ...fields, ruleId: idByName('rule', await rulesOf(client), name) }
}

const ruleNameIn = (fields: Fields) => textField(byId.name, fields, 'rule')

export const ruleExecution: Kind = {
  ...byId,
  fields: () => [...byId.fields().filter(({ name }) => name !== 'ruleId'), required('rule')],
  references: (fields) => [stepKey('rule', ruleNameIn(fields))],
  async *list(client) {
    const names = new Map((await rulesOf(client)).map(({ id, name }) => [id, name]))
    for await (const { fields, ...found } of byId.list(client)) {
      const { ruleId, ...others } = fields
      const rule = names.get(ruleId as string)
      // An action whose rule was deleted does nothing, and no document can describe it.
      if (rule !== undefined) yield { ...found, fields: { ...others, rule } }
    }
  },
  async create(client, fields, options) {
    await byId.create(client, await withRuleId(client, fields, ruleNameIn(fields)), options)
  },
  async update(client, found, fields) {
    await byId.update(client, found, await withRuleId(client, fields, ruleNameIn(fields)))
  },
}
