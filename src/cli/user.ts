import { parseArgs } from 'node:util'
import { Identity } from '../identity/contract.ts'
import { newSecret } from '../kernel/ids.ts'
import { atTheHouse, UsageError } from './at-the-house.ts'
import { tell } from './sentences.ts'

export const usage = `usage: waypost user <what> [--tenant default]

  list                                     who can log in
  add <name> [--role tenant-admin] …       a new user; the generated password is shown once
  password <name>                          a new password, when nobody can log in any more
  remove <name>
`

/** People of a tenant, for the operator at the machine. Passwords are generated: arguments end up in histories. */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { tenant: { type: 'string', default: 'default' }, role: { type: 'string', multiple: true, default: [] } },
  })
  const [what, name] = positionals
  if (!what || !['list', 'add', 'password', 'remove'].includes(what) || (what !== 'list' && !name)) {
    process.stderr.write(usage)
    return 2
  }
  const { tenant, role: roles } = values
  return await atTheHouse(usage, async ({ ask }) => {
    const identity = ask(Identity)
    if (!(await identity.realm(tenant))) throw new UsageError(`there is no tenant ${tenant}`)
    const { users } = await identity.findUsers(tenant, { offset: 0, limit: null, ...(name && { search: name }) })
    if (what === 'list') {
      for (const { username, email, enabled } of users)
        tell([username, email ?? '', enabled ? '' : '(disabled)'].filter(Boolean).join('  '))
      return
    }
    const password = newSecret(15)
    if (what === 'add') {
      await identity.operator.addUser(tenant, { username: name!, password, roles })
      tell(
        `Made ${name} in tenant ${tenant}${roles.length > 0 ? ` with ${roles.join(', ')}` : ' without a role'}. Password: ${password}`,
      )
      return
    }
    const user = users.find(({ username }) => username.toLowerCase() === name!.toLowerCase())
    if (!user) throw new UsageError(`there is no user ${name} in tenant ${tenant}`)
    if (what === 'remove') {
      await identity.operator.removeUser(tenant, user.id)
      tell(`Removed ${user.username}; whoever was logged in so is logged out.`)
      return
    }
    await identity.operator.setPassword(tenant, user.id, password)
    tell(`The password of ${user.username} is now: ${password}`)
  })
}
