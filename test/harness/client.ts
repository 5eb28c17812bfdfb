/** HTTP client for tests over real sockets. */
export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look at answers of every shape
  body: any
  text: string
  headers: Headers
}

export type Ask = (operation: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>

/** `const ask = client(baseUrl, { authorization: … })`, then `ask('POST /api/v1/applications', { name: 'a' })`. */
export function client(baseUrl: string, defaultHeaders: Record<string, string> = {}): Ask {
  return async (operation, body, headers = {}) => {
    const space = operation.indexOf(' ')
    const raw = typeof body === 'string' || body instanceof Uint8Array || body instanceof URLSearchParams
    const response = await fetch(baseUrl + operation.slice(space + 1), {
      method: operation.slice(0, space),
      redirect: 'manual',
      headers: {
        ...(body !== undefined && !raw && { 'content-type': 'application/json' }),
        ...defaultHeaders,
        ...headers,
      },
      ...(body !== undefined && { body: raw ? (body as never) : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') && text !== ''
    return { status: response.status, body: isJson ? JSON.parse(text) : undefined, text, headers: response.headers }
  }
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

export interface Grant {
  [field: string]: string
}

/** Calls the token endpoint of a realm as an OAuth client does. */
export const requestToken = (baseUrl: string, tenantId: string, grant: Grant): Promise<Answer> =>
  client(baseUrl)(`POST /auth/realms/${tenantId}/protocol/openid-connect/token`, new URLSearchParams(grant))

export async function tokenOf(baseUrl: string, tenantId: string, grant: Grant): Promise<string> {
  const answer = await requestToken(baseUrl, tenantId, grant)
  if (answer.status !== 200) throw new Error(`no token: ${answer.status} ${answer.text}`)
  return answer.body.access_token
}
