/** Describes in the API reference why an operation responds with an error status. */
import { mediaTypeOf } from '../schema.ts'
import { bodyLimitOf } from './body.ts'
import { type Access, type Operation, scopesOf } from './routes.ts'

type Declared = Pick<Operation, 'access' | 'schema'>

/** Returns the cause that the operation declares in `fails`. If it declares none, returns the cause that all operations share. */
export function causeOf(status: number, { access, schema }: Declared): string {
  const cause = schema.fails?.[status] ?? commonCauses[status]?.({ access, schema })
  if (cause === undefined)
    throw new Error(`${schema.name} responds with ${status}, but \`fails\` does not state the cause`)
  return cause
}

const commonCauses: Record<number, (operation: Declared) => string> = {
  400: ({ schema }) =>
    `${listParts(schema)} is missing, malformed or out of range. The text names the field and says what is expected.`,
  401: () => 'The request carries no access token or API key, or its token or key is invalid, expired or revoked.',
  403: ({ access }) => permissionCause(access),
  404: () => 'An object that the path names does not exist, or the caller may not read it.',
  413: ({ access }) => `The body is larger than ${bodyLimitOf(access)} bytes.`,
  415: ({ access, schema }) =>
    access.streamBody
      ? 'The `Content-Encoding` of the body is a compression. Every `Content-Type` is accepted.'
      : `The \`Content-Type\` of the body is not \`${schema.bodyType ?? (schema.body ? mediaTypeOf(schema.body) : '')}\`.`,
  429: () =>
    'The caller or its address sends more requests than the rate limits allow, or too many operations of this kind run ' +
    'for the tenant. `Retry-After` holds the seconds to wait.',
  507: () => 'A disk of the platform has too little space left. Nothing was changed; reading and deleting still work.',
  503: () =>
    'The database is unreachable, too slow or out of space. `Retry-After` holds the seconds to wait before a retry.',
}

function listParts({ params, query, headers, body }: Declared['schema']): string {
  const parts = [
    params && 'a path parameter',
    query && 'a query parameter',
    headers && 'a header',
    body && 'a field of the body',
  ].filter((part) => part !== undefined)
  const text = parts.length > 1 ? `${parts.slice(0, -1).join(', ')} or ${parts.at(-1)}` : (parts[0] ?? 'the request')
  return text[0]!.toUpperCase() + text.slice(1)
}

function permissionCause(access: Access): string {
  const { keyHeader, on = 'resource', or } = access
  if (keyHeader !== undefined) return `The token in \`${keyHeader}\` is missing, invalid or expired.`
  const scopes = scopesOf(access).map((scope) => `\`${scope}\``)
  const needed = `${scopes.length === 1 ? 'the scope' : 'the scopes'} ${scopes.join(' and ')} on ${systems[on]}`
  if (or) return `The caller holds neither \`${or.scope}\` on ${systems[or.on]} nor ${needed}.`
  return `The caller does not hold ${needed}.${on === 'resource' ? ' An object that the caller may not read gives 404.' : ''}`
}

const systems = { platform: 'platform-system', tenant: 'tenant-system', resource: 'the object' }
