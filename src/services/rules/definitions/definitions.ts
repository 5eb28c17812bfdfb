/** The part of the service that stores rules, actions, triggers and what belongs to them. */
import type { Part } from '../part.ts'
import { type ChangeListener, createChanges } from './changes.ts'
import { ruleRoutes } from './routes/rules.ts'
import type { DefinitionsGiven, Deps } from './service/deps.ts'
import { createRuleOperations, type RuleOperations } from './service/rules.ts'

export interface DefinitionsPart extends Part {
  rules: RuleOperations
  /** Registers a function that is called on every node after a change of a tenant's definitions. */
  onChange(listener: ChangeListener): void
}

export function createDefinitions(given: DefinitionsGiven): DefinitionsPart {
  const changes = createChanges(given.kit)
  const deps: Deps = { ...given, changes }
  const rules = createRuleOperations(deps)
  return {
    rules,
    onChange: changes.onChange,
    routes(http) {
      ruleRoutes(http, rules)
    },
    periodic: changes.periodic,
    start: changes.start,
    stop: changes.stop,
  }
}
