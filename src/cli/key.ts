import { parseArgs } from 'node:util'
import { Identity } from '../identity/contract.ts'
import { atTheHouse, UsageError } from './at-the-house.ts'
import { tell } from './sentences.ts'

export const usage = `usage: waypost key <what> [--tenant default]

  list                                                API keys
  create <name> [--user <name>] [--scope <scope>] …   an API key of the backend client, or of a user; shown once
         [--expires <ISO 8601>]
  revoke <id>
  rotate                                              a new signing key; nobody is logged out
`

/** API keys and signing keys of a tenant, for the operator at the machine. */
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
  const [what, name] = positionals
  const needsName = what === 'create' || what === 'revoke'
  if (!what || !['list', 'create', 'revoke', 'rotate'].includes(what) || (needsName && !name)) {
    process.stderr.write(usage)
    return 2
  }
  if (values.expires !== undefined && Number.isNaN(Date.parse(values.expires))) {
    process.stderr.write(`waypost: --expires: expected an ISO 8601 date and time\n\n${usage}`)
    return 2
  }
  const { tenant } = values
  return await atTheHouse(usage, async ({ ask }) => {
    const identity = ask(Identity)
    const realm = await identity.realm(tenant)
    if (!realm) throw new UsageError(`there is no tenant ${tenant}`)
    switch (what) {
      case 'list':
        for (const { id, name, owner, expiresAt } of await identity.operator.apiKeys(tenant))
          tell(
            [id, name, `${owner.type} ${owner.id}`, expiresAt ? `until ${expiresAt.toISOString()}` : '']
              .filter(Boolean)
              .join('  '),
          )
        return
      case 'revoke':
        await identity.operator.revokeApiKey(tenant, name!)
        tell('Revoked.')
        return
      case 'rotate':
        await identity.operator.rotateSigningKey(tenant)
        tell(
          `Tokens of tenant ${tenant} are signed with a new key from now on; those signed before stay valid until they expire.`,
        )
        return
    }
    const owner = values.user
      ? await userOf(identity, tenant, values.user)
      : ({ type: 'client', id: realm.backendClientId } as const)
    const made = await identity.operator.createApiKey(tenant, owner, {
      name: name!,
      ...(values.scope && { scopes: values.scope }),
      ...(values.expires && { expiresAt: values.expires }),
    })
    tell(`API key ${made.id} of ${owner.type} ${values.user ?? owner.id}: ${made.key}`)
  })
}

async function userOf(identity: Identity, tenant: string, username: string) {
  const { users } = await identity.findUsers(tenant, { offset: 0, limit: null, search: username })
  const user = users.find((found) => found.username.toLowerCase() === username.toLowerCase())
  if (!user) throw new UsageError(`there is no user ${username} in tenant ${tenant}`)
  return { type: 'user', id: user.id } as const
}
