/** The part of the service that stores rules, actions, triggers and related objects. */
import type { Part } from '../part.ts'
import { type ChangeListener, createChanges } from './changes.ts'
import { actionRoutes } from './routes/actions.ts'
import { alertSettingRoutes } from './routes/alert-settings.ts'
import { linkRoutes } from './routes/links.ts'
import { ruleRoutes } from './routes/rules.ts'
import { secretRoutes } from './routes/secrets.ts'
import { snippetRoutes } from './routes/snippets.ts'
import { triggerRoutes } from './routes/triggers.ts'
import { createActionOperations } from './service/actions.ts'
import { createAlertSettingOperations } from './service/alert-settings.ts'
import { handleTenantDeletion } from './service/deletions.ts'
import type { DefinitionsPartDeps, Deps } from './service/deps.ts'
import { createLinkOperations } from './service/links.ts'
import { createRuleOperations } from './service/rules.ts'
import { createSecretValues, type SecretValues } from './service/secret-values.ts'
import { createSecretOperations } from './service/secrets.ts'
import { createSnippetOperations } from './service/snippets.ts'
import { createTriggerOperations } from './service/triggers.ts'

export interface DefinitionsPart extends Part {
  /** Provides the values of secrets to scripts, and masks them in texts that people read. */
  secrets: SecretValues
  /** Registers a function that is called on every node after a change of a tenant's definitions. */
  onChange(listener: ChangeListener): void
}

export function createDefinitions(services: DefinitionsPartDeps): DefinitionsPart {
  const changes = createChanges(services.kit)
  const deps: Deps = { ...services, changes }
  handleTenantDeletion(deps)
  return {
    secrets: createSecretValues(services.kit),
    onChange: changes.onChange,
    routes(http) {
      ruleRoutes(http, createRuleOperations(deps))
      actionRoutes(http, createActionOperations(deps))
      triggerRoutes(http, createTriggerOperations(deps))
      linkRoutes(http, createLinkOperations(deps))
      snippetRoutes(http, createSnippetOperations(deps))
      secretRoutes(http, createSecretOperations(deps))
      alertSettingRoutes(http, createAlertSettingOperations(deps))
    },
    periodic: changes.periodic,
  }
}
