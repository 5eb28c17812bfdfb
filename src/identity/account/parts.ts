/** Assembles the operations of users on their own account. */
import type { Kit } from '../../kernel/define-service.ts'
import { createMailer } from '../../kernel/mail.ts'
import type { Core } from '../core.ts'
import { createPasswordRule } from '../password-rule.ts'
import { createAccountPages } from '../provider/account-pages.ts'
import type { IdentitySettings } from '../settings.ts'
import { createAccountSessions } from './account-sessions.ts'
import { createOwnPassword } from './own-password.ts'
import { createPasswordLinks } from './password-links.ts'
import { createReset } from './reset.ts'

export type AccountParts = ReturnType<typeof createAccountParts>

export function createAccountParts(kit: Kit<IdentitySettings>, core: Core) {
  const passwordRule = createPasswordRule(kit.settings)
  const ownPassword = createOwnPassword(kit, core, passwordRule)
  const mailer = createMailer(kit.platform.mail, kit.baseUrl)
  const reset = mailer.isConfigured ? createReset(kit, { core, mailer, ownPassword }) : undefined
  const passwordLinks = createPasswordLinks(kit, core, ownPassword)
  const pages = createAccountPages({
    baseUrl: kit.baseUrl,
    core,
    passwordLinks,
    sessions: createAccountSessions(kit),
    ownPassword,
    reset,
    passwordLengthMin: kit.settings.passwordLengthMin,
  })
  return { passwordRule, ownPassword, passwordLinks, pages, hasReset: reset !== undefined, stop: mailer.stop }
}
