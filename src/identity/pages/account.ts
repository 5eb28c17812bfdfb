/** HTML pages on which users manage their account. */
import { escapeHtml, type Page, page } from './pages.ts'

const sameSite = "'self'"

export const problem = (text: string | undefined) =>
  text === undefined ? '' : `<p class="alert" id="problem" role="alert">${escapeHtml(text)}</p>`
export const notice = (text: string | undefined) =>
  text === undefined ? '' : `<p class="notice" role="status">${escapeHtml(text)}</p>`

export const newPasswordFields = (lengthMin: number, { isFirst = false } = {}) => `<label for="new">New password</label>
<input id="new" name="new" type="password" autocomplete="new-password" minlength="${lengthMin}" maxlength="256" required
 aria-describedby="rule"${isFirst ? ' autofocus' : ''}>
<p class="soft" id="rule">At least ${lengthMin} characters, and not a common password.</p>
<label for="again">New password again</label>
<input id="again" name="again" type="password" autocomplete="new-password" maxlength="256" required>`

export interface AccountView {
  name: string
  username: string
  /** Address of the account pages. */
  account: string
  passwordLengthMin: number
  error?: string
  notice?: string
  /** Parts of the page about second factors; empty if the realm allows no second factors. */
  factors?: string
}

export function accountPage({ name, username, account, passwordLengthMin, factors = '', ...texts }: AccountView): Page {
  const at = escapeHtml(account)
  return page(
    `Account at ${name}`,
    `<h1>${escapeHtml(username)}</h1>
<p class="soft">Account at ${escapeHtml(name)}</p>
${problem(texts.error)}${notice(texts.notice)}
<h2>Password</h2>
<form method="post" action="${at}/password">
<input type="hidden" name="username" value="${escapeHtml(username)}" autocomplete="username">
<label for="present">Present password</label>
<input id="present" name="present" type="password" autocomplete="current-password" maxlength="1024" required>
${newPasswordFields(passwordLengthMin)}
<button type="submit">Change the password</button>
<p class="soft">This signs you out everywhere.</p>
</form>
${factors}
<form method="post" action="${at}/sign-out"><button type="submit" class="plain">Sign out here</button></form>`,
    sameSite,
  )
}

/** A page with a heading and one sentence. */
export const messagePage = (view: { name: string; title: string; text: string; link?: { to: string; text: string } }) =>
  page(
    view.title,
    `<h1>${escapeHtml(view.title)}</h1>
<p class="soft">${escapeHtml(view.name)}</p>
<p class="notice" role="status">${escapeHtml(view.text)}</p>${
      view.link ? `\n<p class="links"><a href="${escapeHtml(view.link.to)}">${escapeHtml(view.link.text)}</a></p>` : ''
    }`,
  )

export const resetPage = ({ name, account, error }: { name: string; account: string; error?: string }): Page =>
  page(
    'Forgot your password?',
    `<h1>Forgot your password?</h1>
<p class="soft">${escapeHtml(name)}</p>
${problem(error)}
<form method="post" action="${escapeHtml(account)}/reset">
<label for="username">User name or e-mail</label>
<input id="username" name="username" autocomplete="username" autocapitalize="none" autocorrect="off" spellcheck="false" maxlength="255"
 required autofocus>
<button type="submit">Send me a link</button>
</form>`,
    sameSite,
  )

export const newPasswordPage = (view: {
  name: string
  /** Address to which the form is sent. */
  action: string
  token: string
  username: string
  passwordLengthMin: number
  error?: string
}): Page =>
  page(
    'New password',
    `<h1>New password</h1>
<p class="soft">for ${escapeHtml(view.username)} at ${escapeHtml(view.name)}</p>
${problem(view.error)}
<form method="post" action="${escapeHtml(view.action)}">
<input type="hidden" name="token" value="${escapeHtml(view.token)}">
<input type="hidden" name="username" value="${escapeHtml(view.username)}" autocomplete="username">
${newPasswordFields(view.passwordLengthMin, { isFirst: true })}
<button type="submit">Set the password</button>
</form>`,
    sameSite,
  )
