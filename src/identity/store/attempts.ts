import { createLockoutRows } from '../../kernel/lockout-rows.ts'

/** Counters of wrong passwords and secrets. The key is a hash of the account or the address. */
export const attempts = createLockoutRows((sql) => sql`identity.attempts`)
