import { createLockoutRows } from '../../kernel/lockout-rows.ts'

/** Wrong passwords and secrets, by a hash of the account or the address. */
export const attempts = createLockoutRows((sql) => sql`identity.attempts`)
