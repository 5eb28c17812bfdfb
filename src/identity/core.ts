/** Creates the parts of identity that the OpenID Connect provider and the management API share. */
import type { Kit } from '../kernel/define-service.ts'
import type { PeriodicTask } from '../kernel/periodic.ts'
import { createAccessTokens } from './access-tokens.ts'
import { createLoginTickets } from './account/login-tickets.ts'
import { createAccounts } from './accounts.ts'
import { createAmbientTransaction } from './ambient-transaction.ts'
import { createDeniedTokens } from './denied-tokens.ts'
import { createLoginLockout } from './login-lockout.ts'
import { createPasswords, type Passwords } from './passwords.ts'
import { createOpenLogins } from './provider/open-logins.ts'
import { createRealms } from './realms.ts'
import { createSecondFactors } from './second-factors/factors.ts'
import { createFlow } from './second-factors/flow.ts'
import { createPendingLogins } from './second-factors/pending-logins.ts'
import { createSessions } from './sessions.ts'
import { createSigningKeys } from './signing-keys.ts'
import { deleteExpired } from './store/artefacts.ts'

export function createCore(kit: Kit, replacements: { passwords?: Passwords } = {}) {
  const passwords = replacements.passwords ?? createPasswords(kit.platform.passwordCost.scrypt)
  const transaction = createAmbientTransaction(kit.db)
  const deniedTokens = createDeniedTokens(kit)
  const realms = createRealms(kit)
  const signingKeys = createSigningKeys(kit, realms)
  const lockout = createLoginLockout(kit, transaction)
  const sessions = createSessions(kit, deniedTokens)
  const accounts = createAccounts(kit, { passwords, lockout, sessions, transaction })
  const openLogins = createOpenLogins(kit)
  const secondFactors = createSecondFactors({ ...kit, lockout })
  const accessTokens = createAccessTokens(kit, realms, deniedTokens)
  const periodic: PeriodicTask[] = [
    { name: 'identity.prune-attempts', everySeconds: 300, run: lockout.prune },
    { name: 'identity.prune-artefacts', everySeconds: 60, run: (sql) => deleteExpired(sql, kit.now()) },
    { name: 'identity.prune-keys', everySeconds: 3600, run: signingKeys.prune },
  ]
  return {
    transaction,
    deniedTokens,
    realms,
    signingKeys,
    passwords,
    lockout,
    sessions,
    accounts,
    secondFactors,
    secondFactorFlow: createFlow(kit, secondFactors),
    pendingLogins: createPendingLogins(kit),
    loginTickets: createLoginTickets(kit),
    accessTokens,
    openLogins,
    periodic,
  }
}

export type Core = ReturnType<typeof createCore>
