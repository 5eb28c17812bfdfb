/** Serves the pages under /auth/realms/{tenant_id}/account: sign-in, change of the password, reset by e-mail. */
import querystring from 'node:querystring'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AccountSession, AccountSessions } from '../account/account-sessions.ts'
import type { OwnPassword } from '../account/own-password.ts'
import { linkMinutes, type PasswordLinks } from '../account/password-links.ts'
import { type Reset, resetMinutes } from '../account/reset.ts'
import type { Core } from '../core.ts'
import type { Wait } from '../login-lockout.ts'
import { accountPage, messagePage, newPasswordPage, resetPage } from '../pages/account.ts'
import { errorPage, loginPage, type Page } from '../pages/pages.ts'
import { factorsPart } from '../pages/second-factor.ts'
import type { FlowState } from '../second-factors/flow.ts'
import type { Realm, User } from '../types.ts'

export interface AccountDeps {
  baseUrl(): string
  core: Core
  passwordLinks: PasswordLinks
  sessions: AccountSessions
  ownPassword: OwnPassword
  /** Undefined if there is no mail server. */
  reset: Reset | undefined
  passwordLengthMin: number
}

interface Visit {
  deps: AccountDeps
  realm: Realm
  name: string
  /** Path of the realm in the URL. */
  mount: string
  form: Record<string, string>
  query: URLSearchParams
  address: string
  session: AccountSession | undefined
  reply: FastifyReply
}

type Step = (visit: Visit) => Promise<unknown>

const send = ({ reply }: Visit, status: number, { html, headers }: Page) =>
  reply.code(status).headers(headers).type('text/html; charset=utf-8').send(html)
const accountOf = ({ mount }: Visit) => `${mount}/account`

export const waitText = ({ wait, locked }: Wait) =>
  `${locked ? 'Too many failed attempts.' : 'Too many attempts at the same time.'} Please try again in ${wait} seconds.`
export const differentText = 'The two new passwords differ.'
/** Returns a sentence with the problem that the password rule reports. */
export const sentenceOf = (problem: string) => `Please choose another password: ${problem}.`

const steps: Record<string, Step> = {
  'GET ': show,
  'POST ': (visit) => (visit.form.step === undefined ? signIn(visit) : continueFlow(visit, 'advance')),
  'POST add-factor': (visit) => startFlow(visit, 'enrol'),
  'POST recovery-codes': (visit) => startFlow(visit, 'codes'),
  'POST remove-factor': removeFactor,
  'POST password': changePassword,
  'POST sign-out': signOut,
  'GET reset': async (visit) =>
    visit.deps.reset ? send(visit, 200, resetPage({ name: visit.name, account: accountOf(visit) })) : noMail(visit),
  'POST reset': requestReset,
  'GET new-password': showNewPassword,
  'POST new-password': setNewPassword,
  'GET choose-password': showChoice,
  'POST choose-password': choosePassword,
}

export function createAccountPages(deps: AccountDeps) {
  return {
    /** Returns whether a path of a realm belongs to these pages. */
    isAccount: (path: string) => path === 'account' || path.startsWith('account/'),
    async serve(
      request: FastifyRequest,
      reply: FastifyReply,
      { realm, mount, path, query }: { realm: Realm; mount: string; path: string; query: string },
    ) {
      const name = realm.displayName ?? realm.tenantId
      const method = request.method === 'HEAD' ? 'GET' : request.method
      const step = steps[`${method} ${path.slice('account/'.length)}`]
      const refuse = (status: number, title: string, text: string) => {
        const { html, headers } = errorPage({ name, title, text })
        return reply.code(status).headers(headers).type('text/html; charset=utf-8').send(html)
      }
      if (!step) return refuse(404, 'Page not found', 'There is nothing at this path.')
      // Forms of other web pages are refused. The cookie alone does not prevent them, because sign-in and reset have no cookie yet.
      const site = request.headers['sec-fetch-site']
      if (method === 'POST' && site !== undefined && site !== 'same-origin' && site !== 'none')
        return refuse(403, 'Not allowed', 'This form was sent by another web page.')
      const visit: Visit = {
        deps,
        realm,
        name,
        mount,
        form: formOf(request),
        query: new URLSearchParams(query),
        address: request.address,
        session: await deps.sessions.find(realm.tenantId, request.headers.cookie),
        reply,
      }
      return await step(visit)
    },
  }
}

/** Returns the fields of the form. Repeated fields are ignored. */
function formOf({ body }: FastifyRequest): Record<string, string> {
  if (!Buffer.isBuffer(body)) return {}
  const entries = Object.entries(querystring.parse(body.toString()))
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

/** State of a session: whether the sign-in is complete, and the steps in progress. */
interface State {
  isComplete?: boolean
  flow?: FlowState
}
const stateOf = ({ session }: Visit) => (session?.payload ?? {}) as State

async function findUser({ deps, realm, session }: Visit): Promise<User | undefined> {
  const user = session && (await deps.core.accounts.find(realm.tenantId, session.userId))
  return user?.enabled ? user : undefined
}

/** Returns the user if the sign-in is complete. */
const userOf = async (visit: Visit) => (stateOf(visit).isComplete ? await findUser(visit) : undefined)

const saveState = ({ deps, realm, session }: Visit, state: State) =>
  deps.sessions.save(realm.tenantId, { ...session!, payload: { ...state } })

function showSignIn(visit: Visit, status = 200, texts: { error?: string; username?: string } = {}) {
  const { name, deps } = visit
  const account = accountOf(visit)
  const links = deps.reset ? { account, hasReset: true } : {}
  return send(visit, status, loginPage({ name, action: account, returnTo: undefined, ...links, ...texts }))
}

async function showAccount(visit: Visit, user: User, status = 200, texts: { error?: string; notice?: string } = {}) {
  const { name, deps } = visit
  const { passwordLengthMin } = deps
  const factors = await factorsOf(visit, user)
  const view = { name, username: user.username, account: accountOf(visit), passwordLengthMin, factors, ...texts }
  return send(visit, status, accountPage(view))
}

async function factorsOf(visit: Visit, { id: userId }: User): Promise<string> {
  const { realm, deps } = visit
  const { secondFactors } = deps.core
  if (realm.secondFactor === 'off') return ''
  const factors = await secondFactors.find(realm.tenantId, userId)
  return factorsPart({
    account: accountOf(visit),
    factors: factors.map(({ id, name, createdAt }) => ({ id, name, since: createdAt.toISOString().slice(0, 10) })),
    recoveryCodes: await secondFactors.countRecoveryCodes(realm.tenantId, userId),
  })
}

async function show(visit: Visit) {
  if (stateOf(visit).flow) return continueFlow(visit, 'show')
  const user = await userOf(visit)
  return user ? showAccount(visit, user) : showSignIn(visit)
}

async function signIn(visit: Visit) {
  const { deps, realm, form, address, reply, mount } = visit
  const { username = '', password = '' } = form
  if (username === '' || password === '')
    return showSignIn(visit, 400, { error: 'Please enter your user name and your password.', username })
  const result = await deps.core.accounts.logIn(realm.tenantId, { username, password, address })
  if (result === 'wrong') return showSignIn(visit, 401, { error: 'The user name or the password is wrong.', username })
  if ('wait' in result) {
    reply.header('retry-after', String(result.wait))
    return showSignIn(visit, 429, { error: waitText(result), username })
  }
  const required = await deps.core.secondFactors.requirementOf(realm, result.user.id)
  const state: State = required === 'none' ? { isComplete: true } : { flow: { stage: required, amr: ['pwd'] } }
  const { cookie } = await deps.sessions.start(realm.tenantId, mount, result.user.id, { ...state })
  return reply.header('set-cookie', cookie).redirect(accountOf(visit), 303)
}

/** Runs the steps of second factors, for the sign-in or for a factor that is being added. */
async function continueFlow(visit: Visit, call: 'show' | 'advance') {
  const { deps, realm, form, address, reply } = visit
  const { flow, isComplete } = stateOf(visit)
  const user = await findUser(visit)
  if (!user || !flow) return showSignIn(visit, 401, { error: 'Please sign in first.' })
  const result = await deps.core.secondFactorFlow[call]({
    realm,
    user,
    state: flow,
    form,
    address,
    action: accountOf(visit),
    save: (changed) => saveState(visit, { ...(isComplete && { isComplete }), flow: changed }),
  })
  if (typeof result === 'object' && 'page' in result) {
    if (result.wait !== undefined) reply.header('retry-after', String(result.wait))
    return send(visit, result.status, result.page)
  }
  if (result === 'canceled' && !isComplete) return signOut(visit)
  await saveState(visit, { isComplete: true })
  return reply.redirect(accountOf(visit), 303)
}

/** Starts the steps that add a factor, or that show new recovery codes. */
async function startFlow(visit: Visit, stage: 'enrol' | 'codes') {
  const { realm, deps, reply } = visit
  const user = await userOf(visit)
  if (!user) return showSignIn(visit, 401, { error: 'Please sign in first.' })
  if (realm.secondFactor === 'off') return showAccount(visit, user, 400, { error: 'Second factors are turned off.' })
  if (stage === 'codes' && (await deps.core.secondFactors.find(realm.tenantId, user.id)).length === 0)
    return showAccount(visit, user, 400, { error: 'Please add a second factor first.' })
  await saveState(visit, { isComplete: true, flow: { stage, amr: ['pwd'] } })
  return reply.redirect(accountOf(visit), 303)
}

async function removeFactor(visit: Visit) {
  const { realm, deps, form, reply } = visit
  const { secondFactors } = deps.core
  const user = await userOf(visit)
  if (!user) return showSignIn(visit, 401, { error: 'Please sign in first.' })
  const factors = await secondFactors.find(realm.tenantId, user.id)
  if (realm.secondFactor === 'required' && factors.length === 1)
    return showAccount(visit, user, 400, {
      error: 'Please add another second factor first: a second factor is required here.',
    })
  if (!(await secondFactors.remove(realm.tenantId, user.id, form.id ?? '')))
    return showAccount(visit, user, 404, { error: 'This second factor does not exist.' })
  return reply.redirect(accountOf(visit), 303)
}

async function changePassword(visit: Visit) {
  const { deps, realm, form, address, reply, mount, session, name } = visit
  const user = await userOf(visit)
  if (!user) return showSignIn(visit, 401, { error: 'Please sign in first.' })
  const { present = '', new: next = '', again = '' } = form
  if (next !== again) return showAccount(visit, user, 400, { error: differentText })
  const outcome = await deps.ownPassword.change(realm.tenantId, user.id, { present, next, address })
  if (outcome === 'wrong') return showAccount(visit, user, 401, { error: 'The present password is wrong.' })
  if (outcome === 'gone') return showSignIn(visit, 401, { error: 'Please sign in again.' })
  if (outcome === 'changed') {
    reply.header('set-cookie', await deps.sessions.end(realm.tenantId, mount, session))
    const text = 'Your password is changed. Sign in again wherever you were signed in.'
    return send(visit, 200, messagePage({ name, title: 'Password changed', text }))
  }
  if ('problem' in outcome) return showAccount(visit, user, 400, { error: sentenceOf(outcome.problem) })
  reply.header('retry-after', String(outcome.wait))
  return showAccount(visit, user, 429, { error: waitText(outcome) })
}

async function signOut(visit: Visit) {
  const { deps, realm, mount, session, reply, name } = visit
  reply.header('set-cookie', await deps.sessions.end(realm.tenantId, mount, session))
  return send(visit, 200, messagePage({ name, title: 'Signed out', text: 'You have left the page of your account.' }))
}

const noMail = (visit: Visit) => {
  const text = 'Passwords cannot be reset by e-mail. Please ask your administrator.'
  return send(visit, 404, errorPage({ name: visit.name, title: 'Not available', text }))
}

async function requestReset(visit: Visit) {
  const { deps, realm, form, address, reply, name } = visit
  if (!deps.reset) return noMail(visit)
  const { username = '' } = form
  const account = accountOf(visit)
  if (username === '' || username.length > 255)
    return send(visit, 400, resetPage({ name, account, error: 'Please enter your user name or e-mail address.' }))
  const seconds = await deps.reset.request(realm.tenantId, username, address)
  if (seconds > 0) {
    reply.header('retry-after', String(seconds))
    const error = `Too many requests from your address. Please try again in ${Math.ceil(seconds / 60)} minutes.`
    return send(visit, 429, resetPage({ name, account, error }))
  }
  const text = `If this user exists and has an e-mail address, a message with a link is on its way. The link works for ${resetMinutes} minutes.`
  return send(visit, 200, messagePage({ name, title: 'Look at your e-mails', text }))
}

const expiredLink = (visit: Visit) => {
  const text = 'This link has expired, or it was used already.'
  return send(visit, 400, errorPage({ name: visit.name, title: 'Link expired', text }))
}

async function showNewPassword(visit: Visit) {
  const { deps, realm, query } = visit
  if (!deps.reset) return noMail(visit)
  const token = query.get('token') ?? ''
  const user = await deps.reset.find(realm.tenantId, token)
  return user ? askForNewPassword(visit, user, { path: 'new-password', token }) : expiredLink(visit)
}

function askForNewPassword(
  visit: Visit,
  { username }: User,
  { path, token }: { path: string; token: string },
  error?: string,
) {
  const { name, deps } = visit
  const { passwordLengthMin } = deps
  const view = { name, action: `${accountOf(visit)}/${path}`, token, username, passwordLengthMin }
  return send(
    visit,
    error === undefined ? 200 : 400,
    newPasswordPage({ ...view, ...(error !== undefined && { error }) }),
  )
}

async function setNewPassword(visit: Visit) {
  const { deps, realm, form, name } = visit
  if (!deps.reset) return noMail(visit)
  const { token = '', new: next = '', again = '' } = form
  const user = await deps.reset.find(realm.tenantId, token)
  if (!user) return expiredLink(visit)
  const at = { path: 'new-password', token }
  if (next !== again) return askForNewPassword(visit, user, at, differentText)
  const outcome = await deps.reset.complete(realm.tenantId, token, next)
  if (outcome === 'gone') return expiredLink(visit)
  if (outcome !== 'changed') return askForNewPassword(visit, user, at, sentenceOf(outcome.problem))
  const text = 'Your new password is set. You are signed out everywhere: sign in with it.'
  return send(visit, 200, messagePage({ name, title: 'Password changed', text }))
}

const usedLink = (visit: Visit) => {
  const text =
    `This link was used already, or its ${linkMinutes} minutes are over. To get another link, run this on the machine of the ` +
    'platform: bin/waypost user link <name>. The first password is in bootstrap.json in its data directory.'
  return send(visit, 400, errorPage({ name: visit.name, title: 'Link expired', text }))
}

async function showChoice(visit: Visit) {
  const { deps, realm, query } = visit
  const token = query.get('token') ?? ''
  const user = await deps.passwordLinks.find(realm.tenantId, token)
  return user ? askForNewPassword(visit, user, { path: 'choose-password', token }) : usedLink(visit)
}

/** Sets the password and redirects to the console, which signs the user in. */
async function choosePassword(visit: Visit) {
  const { deps, realm, form, address, mount, reply } = visit
  const { token = '', new: next = '', again = '' } = form
  const at = { path: 'choose-password', token }
  const user = await deps.passwordLinks.find(realm.tenantId, token)
  if (!user) return usedLink(visit)
  if (next !== again) return askForNewPassword(visit, user, at, differentText)
  const use = { token, password: next, mount, address }
  const outcome = await deps.passwordLinks.complete(realm.tenantId, use)
  if (outcome === 'gone') return usedLink(visit)
  if ('problem' in outcome) return askForNewPassword(visit, user, at, sentenceOf(outcome.problem))
  const prefix = new URL(deps.baseUrl()).pathname.replace(/\/+$/, '')
  return reply.header('set-cookie', outcome.cookie).redirect(`${prefix}/console/${realm.tenantId}/`, 303)
}
