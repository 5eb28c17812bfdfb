/** The options of a client, and the transport that is created from them. */
import { type Auth, createCredentials } from './auth.ts'
import { WaypostError } from './errors.ts'
import { fetchOf, type OnRetry, type Transport } from './running.ts'
import type { Options } from './types.ts'

export interface ClientOptions extends Omit<Options, 'signal' | 'ifMatch' | 'ifNoneMatch' | 'accept' | 'repeatable'> {
  /** Address of the platform, such as `https://waypost.example.com`. The SDK sends requests to no other host. */
  url: string
  auth?: Auth | undefined
  /** An implementation of `fetch` to use instead of the global function. */
  fetch?: typeof fetch | undefined
  /** Called before the pause after which a request is sent again, with the error of the attempt and the length of the pause. */
  onRetry?: OnRetry | undefined
}

export function transportOf({ url, auth, fetch: given, onRetry, ...defaults }: ClientOptions): Transport {
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (!address || !/^https?:$/.test(address.protocol) || address.search !== '' || address.hash !== '')
    throw new WaypostError(`url: expected an address such as https://waypost.example.com, not ${url}`, {
      code: 'invalid_argument',
      field: 'url',
    })
  if (address.username !== '' || address.password !== '')
    throw new WaypostError('url: credentials belong in auth', { code: 'invalid_argument', field: 'url' })
  const base = {
    url: address.href.replace(/\/+$/, ''),
    ...fetchOf(given),
    defaults,
    onRetry,
  }
  return { ...base, credentials: createCredentials(auth, base) }
}
