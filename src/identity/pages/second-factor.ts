/** HTML pages for second factors: for a login, for the enrolment, and a part of the account page. */
import { problem } from './account.ts'
import { escapeHtml, formSources, type Page, page } from './pages.ts'
import { securityKeyScript } from './security-key-script.ts'

interface View {
  name: string
  /** Address of the forms. */
  action: string
  /** Address of the application, to which the form finally leads, as in `loginPage`. */
  returnTo?: string | undefined
  error?: string | undefined
  /** WebAuthn options for the browser. Absent if there is no security key, or if security keys cannot be used on this page. */
  keyOptions?: object | undefined
}

const keyForm = ({ action, keyOptions }: View, step: string, button: string) =>
  keyOptions === undefined
    ? ''
    : `<form method="post" action="${escapeHtml(action)}" id="security-key" data-options="${escapeHtml(JSON.stringify(keyOptions))}">
<input type="hidden" name="step" value="${step}"><input type="hidden" name="credential">
<button type="submit" class="plain">${button}</button>
<p class="alert" id="key-problem" role="alert" hidden>The security key could not be used. Please try again.</p>
</form>`

const scriptOf = ({ keyOptions }: View) => (keyOptions === undefined ? undefined : securityKeyScript)

const cancelForm = ({ action }: View) => `<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="step" value="cancel"><button type="submit" class="plain">Cancel</button></form>`

export const factorPage = (view: View & { hasApp: boolean }): Page =>
  page(
    'Second factor',
    `<h1>Second factor</h1>
<p class="soft">${escapeHtml(view.name)}</p>
${problem(view.error)}
<form method="post" action="${escapeHtml(view.action)}">
<input type="hidden" name="step" value="code">
<label for="code">${view.hasApp ? 'Code of your app, or a recovery code' : 'Recovery code'}</label>
<input id="code" name="code" autocomplete="one-time-code" autocapitalize="none" autocorrect="off" spellcheck="false" maxlength="40"
 required autofocus>
<button type="submit">Continue</button>
</form>
${keyForm(view, 'key', 'Use a security key')}
${cancelForm(view)}`,
    formSources(view.returnTo),
    scriptOf(view),
  )

/** Returns the page that adds a factor. `secret` and `qrCode` are for a new authenticator app. */
export const enrolPage = (view: View & { secret: string; uri: string; qrCode: string; isRequired: boolean }): Page =>
  page(
    'Add a second factor',
    `<h1>Add a second factor</h1>
<p class="soft">${escapeHtml(view.name)}${view.isRequired ? ' requires a second factor for every user.' : ''}</p>
${problem(view.error)}
<h2>Authenticator app</h2>
<p>Scan this code with the app, or <a href="${escapeHtml(view.uri)}">open it</a>, or type the secret. Then enter the code that it shows.</p>
<div class="qr">${view.qrCode}</div>
<p class="secret" id="secret">${escapeHtml(view.secret)}</p>
<form method="post" action="${escapeHtml(view.action)}">
<input type="hidden" name="step" value="add-app">
<label for="code">Code</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="12" required>
<button type="submit">Add the app</button>
</form>
${view.keyOptions ? '<h2>Security key</h2>' : ''}${keyForm(view, 'add-key', 'Add a security key')}
${cancelForm(view)}`,
    formSources(view.returnTo),
    scriptOf(view),
  )

export const recoveryCodesPage = (view: View & { codes: string[] }): Page =>
  page(
    'Recovery codes',
    `<h1>Recovery codes</h1>
<p class="soft">${escapeHtml(view.name)}</p>
<p>Keep these codes in a safe place. Each of them replaces your second factor once. They are shown only now.</p>
<ol class="codes">${view.codes.map((code) => `<li>${code}</li>`).join('')}</ol>
<form method="post" action="${escapeHtml(view.action)}">
<input type="hidden" name="step" value="codes-kept">
<button type="submit">I have kept them</button>
</form>`,
    formSources(view.returnTo),
  )

export interface FactorsView {
  /** Address of the account pages. */
  account: string
  factors: { id: string; name: string; since: string }[]
  recoveryCodes: number
}

/** Builds the part of the account page that lists second factors. */
export function factorsPart({ account, factors, recoveryCodes }: FactorsView): string {
  const at = escapeHtml(account)
  const rows = factors.map(
    ({
      id,
      name,
      since,
    }) => `<div class="row"><span>${escapeHtml(name)}<br><small class="soft">since ${since}</small></span>
<form method="post" action="${at}/remove-factor"><input type="hidden" name="id" value="${escapeHtml(id)}"><button type="submit" class="plain">Remove</button></form></div>`,
  )
  const codes =
    factors.length === 0
      ? ''
      : `<div class="row"><span>${recoveryCodes} recovery codes</span>
<form method="post" action="${at}/recovery-codes"><button type="submit" class="plain">New codes</button></form></div>`
  return `<h2>Second factors</h2>
${rows.join('')}${codes}
<form method="post" action="${at}/add-factor"><button type="submit" class="plain">Add a second factor</button></form>`
}
