/** Serves the sign-in form. The library redirects here with an interaction in a signed cookie and then continues. */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { Interaction, Provider } from 'oidc-provider'
import type { Core } from '../core.ts'
import { errorPage, loginPage, type Page } from '../pages/pages.ts'
import type { Realm } from '../types.ts'
import type { Form } from './library.ts'

export interface LoginRequest {
  core: Core
  realm: Realm
  provider: Provider
  /** The request for the library. */
  inner: IncomingMessage
  form: Form
  address: string
  reply: FastifyReply
  hijackReply(): void
}

export const sendPage = (reply: FastifyReply, status: number, { html, headers }: Page) =>
  reply.code(status).headers(headers).type('text/html; charset=utf-8').send(html)

export async function signIn(request: LoginRequest) {
  const { provider, realm, inner, reply } = request
  const name = realm.displayName ?? realm.tenantId
  let interaction: Interaction
  try {
    interaction = await provider.interactionDetails(inner, reply.raw)
  } catch (error) {
    // Also happens with the cookie of another browser, or if the form is sent twice.
    if ((error as Error).name !== 'SessionNotFound') throw error
    const text = 'This sign-in has expired. Please go back to the application and start again.'
    return sendPage(reply, 400, errorPage({ name, title: 'Sign-in expired', text }))
  }
  const finish = (result: object) => {
    request.hijackReply()
    return provider.interactionFinished(inner, reply.raw, result, { mergeWithLastSubmission: true })
  }
  const show = (status: number, values: { error?: string; username?: string | undefined }) => {
    const action = `${new URL(provider.issuer).pathname}/login/${interaction.uid}`
    return sendPage(reply, status, loginPage({ name, action, returnTo: interaction.params.redirect_uri, ...values }))
  }

  if (interaction.prompt.name === 'consent') return finish({ consent: {} }) // first-party clients: see grantOfLogin
  if (inner.method !== 'POST') return show(200, { username: interaction.params.login_hint })

  const { username, password } = request.form
  if (typeof username !== 'string' || typeof password !== 'string' || username === '' || password === '')
    return show(400, {
      error: 'Please enter your user name and your password.',
      username: typeof username === 'string' ? username : undefined,
    })
  const result = await request.core.accounts.logIn(realm.tenantId, { username, password, address: request.address })
  if (result === 'wrong') return show(401, { error: 'The user name or the password is wrong.', username })
  if ('wait' in result) {
    reply.header('retry-after', String(result.wait))
    const problem = result.locked ? 'Too many failed attempts.' : 'Too many attempts at once.'
    return show(429, { error: `${problem} Please try again in ${result.wait} seconds.`, username })
  }
  return finish({ login: { accountId: result.user.id, amr: ['pwd'] } })
}
