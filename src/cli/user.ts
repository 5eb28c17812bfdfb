import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { loadConfig } from '../config.ts'
import { Identity } from '../identity/contract.ts'
import { newSecret } from '../kernel/ids.ts'
import { print } from './output.ts'
import { UsageError, withServices } from './with-services.ts'

export const usage = `usage: waypost user <action> [--tenant <id>]      (default tenant: default)

  list                                     list the users
  add <name> [--role <role>] …             create a user, without roles by default; the generated password is shown once
  password <name>                          set a generated password for a user and show it once
  link <name>                              print a link by which a user chooses a password, once and within 15 minutes
  factors <name>                           remove all second factors of a user, for example after the loss of a phone
  remove <name>                            delete a user
`

/** Manages users of a tenant, for the operator. Passwords are generated, because arguments of commands are stored in shell histories. */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { tenant: { type: 'string', default: 'default' }, role: { type: 'string', multiple: true, default: [] } },
  })
  const [action, name] = positionals
  if (
    !action ||
    !['list', 'add', 'password', 'link', 'factors', 'remove'].includes(action) ||
    (action !== 'list' && !name)
  ) {
    process.stderr.write(usage)
    return 2
  }
  const { tenant, role: roles } = values
  return await withServices(usage, async ({ ask }) => {
    const identity = ask(Identity)
    if (!(await identity.realm(tenant))) throw new UsageError(`there is no tenant ${tenant}`)
    const { users } = await identity.findUsers(tenant, { offset: 0, limit: null, ...(name && { search: name }) })
    if (action === 'list') {
      for (const { username, email, enabled } of users)
        print([username, email ?? '', enabled ? '' : '(disabled)'].filter(Boolean).join('  '))
      return
    }
    const password = newSecret(15)
    if (action === 'add') {
      await identity.operator.addUser(tenant, { username: name!, password, roles })
      print(
        `Created ${name} in tenant ${tenant}${roles.length > 0 ? ` with ${roles.join(', ')}` : ' without a role'}. Password: ${password}`,
      )
      return
    }
    const user = users.find(({ username }) => username.toLowerCase() === name!.toLowerCase())
    if (!user) throw new UsageError(`there is no user ${name} in tenant ${tenant}`)
    if (action === 'link') {
      const path = await identity.operator.createPasswordLink(tenant, user.id)
      print(
        `With this link ${user.username} chooses a password. The link works once, for 15 minutes:\n${publicUrl()}${path}`,
      )
      return
    }
    if (action === 'factors') {
      await identity.operator.removeSecondFactors(tenant, user.id)
      print(`Removed the second factors of ${user.username} and ended all sessions of this user.`)
      return
    }
    if (action === 'remove') {
      await identity.operator.removeUser(tenant, user.id)
      print(`Removed ${user.username} and ended all sessions of this user.`)
      return
    }
    await identity.operator.setPassword(tenant, user.id, password)
    print(`The password of ${user.username} is now: ${password}`)
  })
}

/** Returns the public address: from the setting, from bootstrap.json of the running platform, or the default. */
function publicUrl(): string {
  const { baseUrl, dataDirectory, host, port } = loadConfig()
  if (baseUrl !== undefined) return baseUrl
  try {
    const { baseUrl: written } = JSON.parse(readFileSync(join(dataDirectory, 'bootstrap.json'), 'utf8'))
    if (typeof written === 'string') return written
  } catch {
    // The file is not written yet, or the platform runs on another machine.
  }
  return `http://${host}:${port}`
}
