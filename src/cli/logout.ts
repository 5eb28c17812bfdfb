import { parseArgs } from 'node:util'
import { createClient } from '../../sdk/src/index.ts'
import { readContexts, withLock, writeContexts } from './api/contexts.ts'
import { usageError } from './api/errors.ts'
import { print } from './output.ts'

export const usage = `usage: waypost logout [--context <name>]

Ends the session at the platform and forgets the login.
`

export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { context: { type: 'string' } } })
  return await withLock(async () => {
    const { current, contexts } = readContexts()
    const name = values.context ?? current
    const context = name === undefined ? undefined : contexts[name]
    if (name === undefined || !context) throw usageError('there is no login; waypost context list shows them')
    const { login, url, tenant } = context
    // The login is forgotten even if the platform is unreachable, because the user wants it gone from this machine.
    const { [name]: _, ...others } = contexts
    writeContexts({ ...(current !== name && current !== undefined && { current }), contexts: others })
    if (login && 'session' in login && login.session.refreshToken !== undefined)
      await createClient({ url }).openid.tokens.revoke({
        tenant_id: tenant,
        body: { token: login.session.refreshToken, token_type_hint: 'refresh_token' },
      } as never)
    print(`Logged out of ${name}.`)
    return 0
  })
}
