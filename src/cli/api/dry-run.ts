/** Prints the request of an operation as a curl command, without sending it and without secrets. */
import { createClient } from '../../../sdk/src/index.ts'
import type { Arguments } from '../../../sdk/src/types.ts'

const secretName = /password|secret|token|apikey|keyid/i

class NotSent extends Error {
  override readonly name = 'NotSent'
}

export async function curlOf(url: string, name: string, args: Arguments, ifMatch: string | undefined): Promise<string> {
  let curl = ''
  const client = createClient({
    url,
    auth: () => '$WAYPOST_TOKEN',
    attempts: 1,
    fetch: (address, { method = 'GET', headers, body } = {}) => {
      curl = commandOf(String(address), method, headers as Record<string, string>, body)
      return Promise.reject(new NotSent())
    },
  })
  const shown = isUpload(args.body) ? { ...args, body: '@upload' } : { ...args, body: masked(args.body) }
  try {
    await client.call(name, shown, ifMatch === undefined ? {} : { ifMatch })
  } catch (error) {
    if (!((error as Error).cause instanceof NotSent)) throw error
  }
  return curl
}

const isUpload = (body: unknown) => typeof body === 'function' || body instanceof ReadableStream

function commandOf(address: string, method: string, headers: Record<string, string>, body: unknown): string {
  const parts = ['curl', ...(method === 'GET' ? [] : ['-X', method]), quoted(address)]
  for (const [name, value] of Object.entries(headers))
    parts.push('-H', value.includes('$WAYPOST_TOKEN') ? `"${name}: ${value}"` : quoted(`${name}: ${value}`))
  if (body === '@upload') parts.push('--data-binary', '@file')
  else if (typeof body === 'string') parts.push('--data-raw', quoted(body))
  return parts.join(' ')
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** Replaces the values of fields that hold secrets. */
function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      secretName.test(key) && typeof inner === 'string' ? '********' : masked(inner),
    ]),
  )
}
