import { anonymousCaller, type Caller } from '../kernel/contract.ts'
import type { HttpApi } from '../kernel/define-service.ts'
import type { Log } from '../kernel/log.ts'
import { authenticationOff } from './log-messages.ts'

/**
 * Returns a function that takes the name of an API and returns the caller of requests without credentials: the anonymous caller if
 * authentication is off for this API, otherwise undefined.
 */
export function withoutAuthentication(
  apisWithoutAuthentication: 'none' | 'all' | string[],
  log: Log,
  apis: Pick<HttpApi, 'name' | 'alwaysAuthenticated'>[],
): (api: string) => Caller | undefined {
  if (apisWithoutAuthentication === 'none') return () => undefined
  const names = [...new Set(apis.map(({ name }) => name))]
  const always = new Set(apis.filter(({ alwaysAuthenticated }) => alwaysAuthenticated).map(({ name }) => name))
  if (Array.isArray(apisWithoutAuthentication)) checkNames(apisWithoutAuthentication, names, always)
  const open = new Set(
    apisWithoutAuthentication === 'all' ? names.filter((name) => !always.has(name)) : apisWithoutAuthentication,
  )
  authenticationOff(log, { apis: [...open] })
  return (api) => (open.has(api) ? anonymousCaller : undefined)
}

function checkNames(given: string[], names: string[], always: Set<string>) {
  const unknown = given.find((name) => !names.includes(name))
  if (unknown) throw new Error(`WAYPOST_AUTH contains the unknown API "${unknown}"; known APIs: ${names.join(', ')}`)
  const fixed = given.find((name) => always.has(name))
  if (fixed)
    throw new Error(
      `WAYPOST_AUTH contains the API "${fixed}", which always requires authentication; APIs that always require authentication: ${[...always].join(', ')}`,
    )
}
