/** The parts of identity, put together once: the provider's pages and the management API both stand on them. */
import type { Kit } from '../kernel/define-service.ts'
import type { PeriodicTask } from '../kernel/periodic.ts'
import { createAccessTokens } from './access-tokens.ts'
import { createAccounts } from './accounts.ts'
import { createDenied } from './denied.ts'
import { createKeys } from './keys.ts'
import { createPasswords, type Passwords } from './passwords.ts'
import { createRealms } from './realms.ts'
import { createSessions } from './sessions.ts'
import { deleteExpired } from './store/artefacts.ts'
import { createThrottle } from './throttle.ts'
import { createUnit } from './unit.ts'

export function createCore(kit: Kit, given: { passwords?: Passwords } = {}) {
  const passwords = given.passwords ?? createPasswords(kit.platform.passwordCost.scrypt)
  const unit = createUnit(kit.db)
  const denied = createDenied(kit)
  const realms = createRealms(kit)
  const keys = createKeys(kit, realms)
  const throttle = createThrottle(kit, unit)
  const sessions = createSessions(kit, denied)
  const accounts = createAccounts(kit, { passwords, throttle, sessions, unit })
  const accessTokens = createAccessTokens(kit, realms, denied)
  const periodic: PeriodicTask[] = [
    { name: 'identity.prune-attempts', everySeconds: 300, run: throttle.prune },
    { name: 'identity.prune-artefacts', everySeconds: 600, run: (sql) => deleteExpired(sql, kit.now()) },
    { name: 'identity.prune-keys', everySeconds: 3600, run: keys.prune },
  ]
  return { unit, denied, realms, keys, passwords, throttle, sessions, accounts, accessTokens, periodic }
}

export type Core = ReturnType<typeof createCore>
