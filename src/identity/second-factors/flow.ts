/**
 * The steps of a login after the password: second factor, enrolment, recovery codes. The sign-in of applications and the account pages use
 * the same steps. Both store the state of a login in the database.
 */
import type { Kit } from '../../kernel/define-service.ts'
import type { Wait } from '../login-lockout.ts'
import type { Page } from '../pages/pages.ts'
import { enrolPage, factorPage, recoveryCodesPage } from '../pages/second-factor.ts'
import type { Realm, User } from '../types.ts'
import type { SecondFactors } from './factors.ts'
import { newTotpSecret, totpUri } from './totp.ts'
import { authenticationOptions, isWebAuthnPossible, registrationOptions } from './webauthn.ts'

/**
 * The state of a login after the password. In the stage `codes`, the factor has been added and the recovery codes have been shown, but the
 * user has not confirmed yet that they are kept.
 */
export interface FlowState {
  stage: 'factor' | 'enrol' | 'codes'
  /** The challenge for the security key on the last page. */
  challenge?: string
  /** Secret of the app that is being added. */
  totpSealed?: string
  amr: string[]
}

export interface FlowRequest {
  realm: Realm
  user: User
  state: FlowState
  form: Record<string, unknown>
  address: string
  /** Address of the forms. */
  action: string
  returnTo?: string | undefined
  save(state: FlowState): Promise<void>
}

export type FlowResult = { amr: string[] } | 'canceled' | { status: number; page: Page; wait?: number }

export type Flow = ReturnType<typeof createFlow>

const wrongCode = 'The code is wrong, or it was used already.'
const wrongKey = 'The security key was not accepted.'
const waitText = ({ wait, locked }: Wait) =>
  `${locked ? 'Too many failed attempts.' : 'Too many attempts at the same time.'} Please try again in ${wait} seconds.`
const textIn = (value: unknown) => (typeof value === 'string' ? value : '')

export function createFlow(kit: Pick<Kit, 'secrets' | 'baseUrl'>, factors: SecondFactors) {
  const deps = { kit, factors }
  return {
    /** Shows the page of the current stage. */
    show: (request: FlowRequest) => showStage(deps, request, 200),

    /** Handles the form that a page has sent. */
    async advance(request: FlowRequest): Promise<FlowResult> {
      const { stage, amr } = request.state
      const step = textIn(request.form.step)
      if (step === 'cancel') return 'canceled'
      if (stage === 'factor' && step === 'code') return await checkCode(deps, request)
      if (stage === 'factor' && step === 'key') return await checkKey(deps, request)
      if (stage === 'enrol' && (step === 'add-app' || step === 'add-key')) return await enrol(deps, request, step)
      if (stage === 'codes' && step === 'codes-kept') return { amr }
      return await showStage(deps, request, 400, 'Please use the form on this page.')
    },
  }
}

interface Deps {
  kit: Pick<Kit, 'secrets' | 'baseUrl'>
  factors: SecondFactors
}

async function showStage(deps: Deps, request: FlowRequest, status: number, error?: string): Promise<FlowResult> {
  if (request.state.stage === 'codes') return await showCodes(deps, request)
  const page =
    request.state.stage === 'factor' ? await askForFactor(deps, request, error) : await askToEnrol(deps, request, error)
  return { status, page }
}

const viewOf = ({ realm, action, returnTo }: FlowRequest) => ({
  name: realm.displayName ?? realm.tenantId,
  action,
  returnTo,
})

async function askForFactor({ kit, factors }: Deps, request: FlowRequest, error?: string): Promise<Page> {
  const { realm, user, state, save } = request
  const known = await factors.find(realm.tenantId, user.id)
  const hasKey = known.some(({ kind }) => kind === 'webauthn') && isWebAuthnPossible(kit.baseUrl())
  const keyOptions = hasKey ? await authenticationOptions(kit.baseUrl(), known) : undefined
  const { challenge: _, ...rest } = state
  await save({ ...rest, ...(keyOptions && { challenge: keyOptions.challenge }) })
  return factorPage({ ...viewOf(request), error, keyOptions, hasApp: known.some(({ kind }) => kind === 'totp') })
}

async function askToEnrol({ kit, factors }: Deps, request: FlowRequest, error?: string): Promise<Page> {
  const { realm, user, state, save } = request
  const view = viewOf(request)
  // After a wrong code, the page shows the same secret again, because the authenticator app already has it.
  const totpSealed = state.totpSealed ?? kit.secrets.seal(newTotpSecret())
  const secret = kit.secrets.open(totpSealed)
  const uri = totpUri(secret, { issuer: view.name, username: user.username })
  const { renderSVG } = await import('uqr')
  const known = await factors.find(realm.tenantId, user.id)
  const keyOptions = isWebAuthnPossible(kit.baseUrl())
    ? await registrationOptions(kit.baseUrl(), view.name, user, known)
    : undefined
  const { challenge: _, ...rest } = state
  await save({ ...rest, totpSealed, ...(keyOptions && { challenge: keyOptions.challenge }) })
  const isRequired = realm.secondFactor === 'required' && known.length === 0
  return enrolPage({ ...view, error, keyOptions, secret, uri, qrCode: renderSVG(uri), isRequired })
}

async function showCodes({ factors }: Deps, request: FlowRequest): Promise<FlowResult> {
  const codes = await factors.newRecoveryCodes(request.realm.tenantId, request.user.id)
  return { status: 200, page: recoveryCodesPage({ ...viewOf(request), codes }) }
}

async function checkCode(deps: Deps, request: FlowRequest): Promise<FlowResult> {
  const { realm, user, form, address, state } = request
  const checked = await deps.factors.checkCode(realm.tenantId, user.id, textIn(form.code), address, true)
  if (checked === 'wrong') return await showStage(deps, request, 401, wrongCode)
  if ('wait' in checked) return await refuse(deps, request, checked)
  return { amr: [...state.amr, checked.amr, 'mfa'] }
}

async function checkKey(deps: Deps, request: FlowRequest): Promise<FlowResult> {
  const { realm, user, form, address, state, save } = request
  const { challenge, ...rest } = state
  // A challenge can be used only once, whatever the result.
  await save(rest)
  if (challenge === undefined) return await showStage(deps, request, 400, wrongKey)
  const checked = await deps.factors.checkKey(realm.tenantId, user.id, challenge, textIn(form.credential), address)
  if (checked === 'wrong') return await showStage(deps, request, 401, wrongKey)
  if ('wait' in checked) return await refuse(deps, request, checked)
  return { amr: [...state.amr, checked.amr, 'mfa'] }
}

async function refuse(deps: Deps, request: FlowRequest, wait: Wait): Promise<FlowResult> {
  const page = await askForFactor(deps, request, waitText(wait))
  return { status: 429, page, wait: wait.wait }
}

async function enrol(deps: Deps, request: FlowRequest, step: 'add-app' | 'add-key'): Promise<FlowResult> {
  const { realm, user, form, state, save } = request
  const { totpSealed, challenge, ...rest } = state
  if (step === 'add-app') {
    const isAdded =
      totpSealed !== undefined && (await deps.factors.addTotp(realm.tenantId, user, totpSealed, textIn(form.code)))
    if (!isAdded) return await showStage(deps, request, 400, wrongCode)
  } else {
    const isAdded =
      challenge !== undefined && (await deps.factors.addKey(realm.tenantId, user, challenge, textIn(form.credential)))
    if (!isAdded) return await showStage(deps, request, 400, wrongKey)
  }
  const amr = [...rest.amr, step === 'add-app' ? 'otp' : 'hwk', 'mfa']
  // Existing codes stay valid. A second app or key does not replace them.
  if ((await deps.factors.countRecoveryCodes(realm.tenantId, user.id)) > 0) return { amr }
  await save({ ...rest, stage: 'codes', amr })
  return await showCodes(deps, request)
}
