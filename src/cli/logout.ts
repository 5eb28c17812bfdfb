import { parseArgs } from 'node:util'
import type { Session } from '../../sdk/src/auth.ts'
import { createClient } from '../../sdk/src/index.ts'
import { contextNamed, readContexts, withLock, writeContexts } from './api/contexts.ts'
import { CommandError, usageError } from './api/errors.ts'
import { nodeFetch } from './api/node-fetch.ts'
import { visible } from './api/visible.ts'
import { print } from './output.ts'

export const usage = `usage: waypost logout [--context <name>]

Ends the session at the platform and forgets the login.
`

export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { context: { type: 'string' } } })
  return await withLock(async () => {
    const stored = readContexts()
    const { current, contexts } = stored
    const name = values.context ?? current
    const context = contextNamed(stored, name)
    if (name === undefined || !context) throw usageError('there is no such login; waypost context list shows all')
    const { login, url, tenant } = context
    // The login is deleted even if the platform is unreachable, because the user wants to remove it from this machine.
    const { [name]: _, ...others } = contexts
    writeContexts({ ...(current !== name && current !== undefined && { current }), contexts: others })
    if (login && 'session' in login) await revoke(url, tenant, login.session)
    print(`Logged out of ${visible(name)}.`)
    return 0
  })
}

async function revoke(url: string, tenant: string, { clientId, refreshToken }: Session) {
  if (refreshToken === undefined) return
  const body = { token: refreshToken, token_type_hint: 'refresh_token', client_id: clientId }
  try {
    await createClient({ url, fetch: nodeFetch }).openid.tokens.revoke({ tenant_id: tenant, body })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(
      `The login is gone from this machine, but its session could not be ended: ${visible(reason)}`,
    )
  }
}
