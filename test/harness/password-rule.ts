import { loadConfig } from '../../src/config.ts'
import { createPasswordRule } from '../../src/identity/password-rule.ts'
import { identitySettings } from '../../src/identity/settings.ts'

export const ada = { username: 'lovelace', email: 'countess@example.org' }

export const openRule = (environment: Record<string, string> = {}) =>
  createPasswordRule(loadConfig(environment).read(identitySettings))
