import { choose, describeChoice } from './api/connection.ts'
import { readContexts, withLock, writeContexts } from './api/contexts.ts'
import { usageError } from './api/errors.ts'
import { visible } from './api/visible.ts'
import { print } from './output.ts'

export const usage = `usage: waypost context <action>

  list           list the logins; * marks the current one
  show           say which platform and login a command would use
  use <name>     use another login from now on
  delete <name>  forget a login
`

export async function run([action, ...names]: string[]): Promise<number> {
  const [name] = names
  if (action === 'show' && names.length === 0) {
    print(await describeChoice(await choose({})))
    return 0
  }
  if (action === 'list' && names.length === 0) {
    const { current, contexts } = readContexts()
    for (const [one, { url, tenant }] of Object.entries(contexts))
      print(visible(`${one === current ? '*' : ' '} ${one}  ${url}  ${tenant}`))
    return 0
  }
  if (action !== 'use' && action !== 'delete') {
    if (action === undefined) throw usageError('expected an action', usage)
    const isKnown = action === 'list' || action === 'show'
    throw usageError(isKnown ? `${action} takes no arguments` : `there is no action ${action}`, usage)
  }
  if (name === undefined || names.length > 1) throw usageError(`${action}: expected the name of one context`, usage)
  return await withLock(async () => {
    const { current, contexts } = readContexts()
    if (!Object.hasOwn(contexts, name)) throw usageError(`there is no context ${name}; waypost context list shows them`)
    if (action === 'use') writeContexts({ current: name, contexts })
    else {
      const { [name]: _, ...others } = contexts
      writeContexts({ ...(current !== name && current !== undefined && { current }), contexts: others })
    }
    return 0
  })
}
