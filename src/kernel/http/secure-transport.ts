/** Redirects HTTP requests to HTTPS and sends Strict-Transport-Security, if the settings enable it. */
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { type IsProxy, plainAddress } from '../client-address.ts'
import { internalCaller } from './internal-calls.ts'

export interface SecureTransport {
  /** 0 means that the header is not sent. */
  hstsSeconds: number
  /** True if plain requests are redirected to the base URL. */
  redirect: boolean
}

/** Returns whether the request came over TLS, either to this process or to a trusted proxy that reports so. */
export function isSecure({ socket, headers }: IncomingMessage, isProxy: IsProxy): boolean {
  if ((socket as Partial<TLSSocket>).encrypted) return true
  return isProxy(plainAddress(socket.remoteAddress), 0) && headers['x-forwarded-proto'] === 'https'
}

export function secureTransport(
  app: FastifyInstance,
  { hstsSeconds, redirect, isProxy, baseUrl }: SecureTransport & { isProxy: IsProxy; baseUrl: () => string },
) {
  if (hstsSeconds === 0 && !redirect) return
  app.addHook('onRequest', (request, reply, done) => {
    if (internalCaller()) return done()
    if (isSecure(request.raw, isProxy)) {
      // The header is set on the raw response, so that pages of the identity provider have it too.
      if (hstsSeconds > 0) reply.raw.setHeader('strict-transport-security', `max-age=${hstsSeconds}`)
      return done()
    }
    if (!redirect) return done()
    // A target in another form, such as an absolute URL, must not redirect to another host.
    const path = request.url.startsWith('/') ? request.url : '/'
    reply.header('connection', 'close').redirect(baseUrl() + path, 308)
  })
}
