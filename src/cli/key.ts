import { parseArgs } from 'node:util'
import { Identity } from '../identity/contract.ts'
import { print } from './output.ts'
import { UsageError, withServices } from './with-services.ts'

export const usage = `usage: waypost key <action> [--tenant default]

  list                                                list API keys
  create <name> [--user <name>] [--scope <scope>] …   create an API key of the backend client or a user; the key is shown once
         [--expires <ISO 8601>]
  revoke <id>                                         revoke an API key
  rotate                                              create a new signing key; sessions and tokens stay valid
`

/** Manages API keys and signing keys of a tenant, for the operator. */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      tenant: { type: 'string', default: 'default' },
      user: { type: 'string' },
      scope: { type: 'string', multiple: true },
      expires: { type: 'string' },
    },
  })
  const [action, name] = positionals
  const needsName = action === 'create' || action === 'revoke'
  if (!action || !['list', 'create', 'revoke', 'rotate'].includes(action) || (needsName && !name)) {
    process.stderr.write(usage)
    return 2
  }
  if (values.expires !== undefined && Number.isNaN(Date.parse(values.expires))) {
    process.stderr.write(`waypost: --expires: expected an ISO 8601 date and time\n\n${usage}`)
    return 2
  }
  const { tenant } = values
  return await withServices(usage, async ({ ask }) => {
    const identity = ask(Identity)
    const realm = await identity.realm(tenant)
    if (!realm) throw new UsageError(`there is no tenant ${tenant}`)
    switch (action) {
      case 'list':
        for (const { id, name, owner, expiresAt } of await identity.operator.apiKeys(tenant))
          print(
            [id, name, `${owner.type} ${owner.id}`, expiresAt ? `until ${expiresAt.toISOString()}` : '']
              .filter(Boolean)
              .join('  '),
          )
        return
      case 'revoke':
        await identity.operator.revokeApiKey(tenant, name!)
        print('Revoked.')
        return
      case 'rotate':
        await identity.operator.rotateSigningKey(tenant)
        print(
          `Tokens of tenant ${tenant} are signed with a new key from now on; tokens that were signed before stay valid until they expire.`,
        )
        return
    }
    const owner = values.user
      ? await findUser(identity, tenant, values.user)
      : ({ type: 'client', id: realm.backendClientId } as const)
    const created = await identity.operator.createApiKey(tenant, owner, {
      name: name!,
      ...(values.scope && { scopes: values.scope }),
      ...(values.expires && { expiresAt: values.expires }),
    })
    print(`API key ${created.id} of ${owner.type} ${values.user ?? owner.id}: ${created.key}`)
  })
}

async function findUser(identity: Identity, tenant: string, username: string) {
  const { users } = await identity.findUsers(tenant, { offset: 0, limit: null, search: username })
  const user = users.find((found) => found.username.toLowerCase() === username.toLowerCase())
  if (!user) throw new UsageError(`there is no user ${username} in tenant ${tenant}`)
  return { type: 'user', id: user.id } as const
}
