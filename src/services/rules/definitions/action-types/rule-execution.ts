import { Name } from '../../../../kernel/schema.ts'
import type { ActionTypeDefinition } from './action-type.ts'

export const ruleExecution: ActionTypeDefinition = {
  type: 'rule-execution',
  title: 'RuleExecutionAction',
  description: 'Runs another rule with the same context, and then the actions of that rule.',
  attributes: {},
  fields: {
    ruleId: Name({
      description:
        'Id of the rule to run. A caller who creates or changes this action needs the scope rule:execute on that rule.',
    }),
  },
  needs: [],
  example: { name: 'then check the window', ruleId: '0b0c4f1e-6a0d-4a55-9d9a-2a4c0a2f9b11' },
}
