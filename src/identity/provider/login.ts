/**
 * Serves the sign-in form. oidc-provider redirects the browser to this form with an interaction in a signed cookie, and continues after the
 * sign-in.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { Interaction, Provider } from 'oidc-provider'
import type { Core } from '../core.ts'
import { errorPage, loginPage, type Page } from '../pages/pages.ts'
import type { FlowState } from '../second-factors/flow.ts'
import type { Realm, User } from '../types.ts'
import type { Form } from './library.ts'

export interface LoginRequest {
  core: Core
  realm: Realm
  provider: Provider
  /** The request for the library. */
  inner: IncomingMessage
  form: Form
  address: string
  /** True if users can reset their password by e-mail. */
  hasReset: boolean
  reply: FastifyReply
  hijackReply(): void
}

export const sendPage = (reply: FastifyReply, status: number, { html, headers }: Page) =>
  reply.code(status).headers(headers).type('text/html; charset=utf-8').send(html)

interface Visit extends LoginRequest {
  interaction: Interaction
  name: string
  /** Path of the realm in the URL. */
  mount: string
}

export async function signIn(request: LoginRequest) {
  const { provider, realm, inner, reply } = request
  const name = realm.displayName ?? realm.tenantId
  let interaction: Interaction
  try {
    interaction = await provider.interactionDetails(inner, reply.raw)
  } catch (error) {
    // The library throws SessionNotFound for an expired sign-in, for the cookie of another browser, and for a form that is sent twice.
    if ((error as Error).name !== 'SessionNotFound') throw error
    const text = 'This sign-in has expired. Please go back to the application and start again.'
    return sendPage(reply, 400, errorPage({ name, title: 'Sign-in expired', text }))
  }
  const visit: Visit = { ...request, interaction, name, mount: new URL(provider.issuer).pathname }
  if (interaction.prompt.name === 'consent') return finish(visit, { consent: {} }) // Clients are first-party (see grantOfLogin).
  const isForm = inner.method === 'POST'
  if (!isForm || request.form.step !== undefined) {
    const pending = await findPending(visit)
    if (pending) return runFlow(visit, pending.user, pending.state, isForm ? 'advance' : 'show')
  }
  if (isForm) return checkPassword(visit)
  const user = await userOfTicket(visit)
  return user ? continueAs(visit, user) : showLogin(visit, 200, { username: interaction.params.login_hint })
}

function finish({ provider, inner, reply, hijackReply }: Visit, result: object) {
  hijackReply()
  return provider.interactionFinished(inner, reply.raw, result, { mergeWithLastSubmission: true })
}

const actionOf = ({ mount, interaction }: Visit) => `${mount}/login/${interaction.uid}`

function showLogin(visit: Visit, status: number, values: { error?: string; username?: string | undefined }) {
  const { name, mount, interaction, hasReset, reply } = visit
  const returnTo = interaction.params.redirect_uri
  const links = { account: `${mount}/account`, hasReset }
  return sendPage(reply, status, loginPage({ name, action: actionOf(visit), returnTo, ...links, ...values }))
}

async function checkPassword(visit: Visit) {
  const { core, realm, reply, address } = visit
  const { username, password } = visit.form
  if (typeof username !== 'string' || typeof password !== 'string' || username === '' || password === '')
    return showLogin(visit, 400, {
      error: 'Please enter your user name and your password.',
      username: typeof username === 'string' ? username : undefined,
    })
  const result = await core.accounts.logIn(realm.tenantId, { username, password, address })
  if (result === 'wrong') return showLogin(visit, 401, { error: 'The user name or the password is wrong.', username })
  if ('wait' in result) {
    reply.header('retry-after', String(result.wait))
    const problem = result.locked ? 'Too many failed attempts.' : 'Too many attempts at the same time.'
    return showLogin(visit, 429, { error: `${problem} Please try again in ${result.wait} seconds.`, username })
  }
  return continueAs(visit, result.user)
}

/** Returns the user who has just chosen the password through a link, and undefined for all other users. Removes the cookie of the link. */
async function userOfTicket(visit: Visit): Promise<User | undefined> {
  const { core, realm, mount, inner, reply } = visit
  const ticket = await core.loginTickets.use(realm.tenantId, mount, inner.headers.cookie)
  const user = ticket && (await core.accounts.find(realm.tenantId, ticket.userId))
  if (!user?.enabled) return undefined
  reply.header('set-cookie', ticket!.cookie)
  return user
}

/** Continues after the correct password: with the second factor if the user has a second factor, otherwise back to the application. */
async function continueAs(visit: Visit, user: User) {
  const { core, realm, interaction } = visit
  const required = await core.secondFactors.requirementOf(realm, user.id)
  if (required === 'none') return finish(visit, { login: { accountId: user.id, amr: ['pwd'] } })
  const state: FlowState = { stage: required, amr: ['pwd'] }
  await core.pendingLogins.save(realm.tenantId, interaction.uid, user.id, state)
  return runFlow(visit, user, state, 'show')
}

/** Finds the login of this interaction if its password was correct. */
async function findPending({ core, realm, interaction }: Visit) {
  const pending = await core.pendingLogins.find(realm.tenantId, interaction.uid)
  const user = pending && (await core.accounts.find(realm.tenantId, pending.userId))
  return user?.enabled ? { user, state: pending!.state } : undefined
}

async function runFlow(visit: Visit, user: User, state: FlowState, call: 'show' | 'advance') {
  const { core, realm, interaction, form, address, reply } = visit
  const { tenantId } = realm
  const result = await core.secondFactorFlow[call]({
    realm,
    user,
    state,
    form,
    address,
    action: actionOf(visit),
    returnTo: interaction.params.redirect_uri,
    save: (changed) => core.pendingLogins.save(tenantId, interaction.uid, user.id, changed),
  })
  if (typeof result === 'object' && 'page' in result) {
    if (result.wait !== undefined) reply.header('retry-after', String(result.wait))
    return sendPage(reply, result.status, result.page)
  }
  await core.pendingLogins.remove(tenantId, interaction.uid)
  if (result === 'canceled') return showLogin(visit, 200, {})
  return finish(visit, { login: { accountId: user.id, amr: result.amr } })
}
