/** Serves the frames of Keycloak's JavaScript adapter. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Provider } from 'oidc-provider'
import { findClient, isOriginAllowed } from '../clients.ts'
import type { Core } from '../core.ts'
import { cookieResultPage, cookieTestPage, loginStatusPage } from '../pages/frames.ts'
import type { Realm } from '../types.ts'
import { connectPath, sessionCookie } from './library.ts'
import { sendPage } from './login.ts'

const root = connectPath.slice(1)
const statusPage = `${root}/login-status-iframe.html`

export const isFrame = (path: string) => path.startsWith(`${root}/3p-cookies/`) || path.startsWith(statusPage)

interface FrameRequest {
  baseUrl: string
  core: Core
  realm: Realm
  provider: Provider
  path: string
  query: string
}

export async function serveFrame(request: FastifyRequest, reply: FastifyReply, frame: FrameRequest) {
  const { path, provider } = frame
  const issuer = new URL(provider.issuer)
  if (path === `${root}/3p-cookies/step1.html`)
    return sendPage(reply, 200, cookieTestPage(`${issuer.pathname}/`, issuer.protocol === 'https:'))
  if (path === `${root}/3p-cookies/step2.html`) return sendPage(reply, 200, cookieResultPage(request.headers.cookie))
  if (path === statusPage) return sendPage(reply, 200, loginStatusPage())
  if (path === `${statusPage}/init`) return reply.code(await loginStatus(frame, request.headers.cookie ?? '')).send()
  return reply.code(404).send()
}

/**
 * Returns 204 if the login has the state that the page expects. Returns 404 if the login has begun or ended since, and 403 if the origin is
 * not allowed.
 */
async function loginStatus({ baseUrl, core, realm, provider, query }: FrameRequest, cookies: string): Promise<number> {
  const { client_id: clientId, origin, session } = Object.fromEntries(new URLSearchParams(query))
  const client = findClient(realm, clientId)
  if (!client || origin === undefined || !isOriginAllowed(baseUrl, client, origin)) return 403
  // After a 404, the adapter tries a silent sign-in, which shows whether the cookie is still valid.
  if (!session) return cookies.includes(`${sessionCookie}=`) ? 404 : 204
  const denied = await core.deniedTokens.has(realm.tenantId, { jti: '', sid: session })
  return !denied && (await provider.Grant.find(session)) ? 204 : 404
}
