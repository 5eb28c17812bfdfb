/** HTML pages of sign-in and sign-out. Their content security policy allows only the script of the page itself. */
import { createHash } from 'node:crypto'
import { style, styleSource } from './style.ts'

export interface Page {
  html: string
  headers: Record<string, string>
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
export const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => escapes[character]!)

const logo =
  '<p class="mark"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 2v3M12 12v10M5 5h12l3 3.5L17 12H5z"/></svg>Waypost</p>'

const securityHeaders = {
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/**
 * Headers for pages of oidc-provider. Its form_post page submits a form with a script, and oidc-provider adds the hash of the script to
 * `script-src`. There is no `form-action`, because the form is sent to an address of the application.
 */
export const libraryHeaders: Page['headers'] = {
  ...securityHeaders,
  'content-security-policy': "default-src 'none'; script-src; base-uri 'none'; frame-ancestors 'none'",
}

/** Builds a page. `script` runs in the page; its hash is part of the content security policy. */
export function page(title: string, body: string, formTargets?: string, script?: string): Page {
  const policy = [
    "default-src 'none'",
    `style-src ${styleSource}`,
    ...(script === undefined ? [] : [`script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`]),
    "base-uri 'none'",
    "frame-ancestors 'none'",
    ...(formTargets === undefined ? [] : [`form-action ${formTargets}`]),
  ]
  return {
    html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
${logo}
${body}
</main>${script === undefined ? '' : `\n<script>${script}</script>`}
</body>
</html>
`,
    headers: { ...securityHeaders, 'cache-control': 'no-store', 'content-security-policy': policy.join('; ') },
  }
}

export function loginPage(view: {
  name: string
  action: string
  /** Address of the application, to which the form finally leads. The policy must allow it: browsers check every redirect after a form. */
  returnTo: string | undefined
  error?: string
  username?: string | undefined
  /** Address of the account pages. If absent, there is no link to them. */
  account?: string
  /** True if users can reset their password by e-mail. */
  hasReset?: boolean
}): Page {
  const { name, action, returnTo, error, username = '', account } = view
  // After a wrong password, the username is filled in and the password gets the focus.
  const focus = (field: 'username' | 'password') => ((username === '') === (field === 'username') ? ' autofocus' : '')
  const described = error ? ' aria-describedby="problem" aria-invalid="true"' : ''
  return page(
    `Sign in to ${name}`,
    `<h1>Sign in</h1>
<p class="soft">to ${escapeHtml(name)}</p>
${error ? `<p class="alert" id="problem" role="alert">${escapeHtml(error)}</p>` : ''}
<form method="post" action="${escapeHtml(action)}">
<label for="username">User name or e-mail</label>
<input id="username" name="username" value="${escapeHtml(username)}" autocomplete="username" autocapitalize="none" autocorrect="off"
 spellcheck="false" maxlength="255" required${described}${focus('username')}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required${described}${focus('password')}>
<button type="submit">Sign in</button>
</form>${loginLinks(account, view.hasReset === true)}`,
    formSources(returnTo),
  )
}

/** Returns the origins to which forms of a page may lead: this origin, and the origin of the final redirect. */
export function formSources(returnTo: string | undefined): string {
  const target = returnTo ? URL.parse(returnTo) : null
  const source = !target || target.origin === 'null' ? (target?.protocol ?? '') : target.origin
  return `'self' ${source}`.trim()
}

function loginLinks(account: string | undefined, hasReset: boolean): string {
  if (account === undefined) return ''
  const link = (path: string, text: string) => `<a href="${escapeHtml(account + path)}">${text}</a>`
  return `\n<p class="links">${hasReset ? link('/reset', 'Forgot your password?') : ''}${link('', 'Your account')}</p>`
}

export const errorPage = (view: { name: string; title: string; text: string; code?: string }): Page =>
  page(
    view.title,
    `<h1>${escapeHtml(view.title)}</h1>
<p class="soft">${escapeHtml(view.name)}</p>
<p class="alert" role="alert">${escapeHtml(view.text)}${view.code ? ` <code>(${escapeHtml(view.code)})</code>` : ''}</p>`,
  )

/** Asks before signing out. `form` comes from the library and contains its CSRF token. */
export const confirmLogoutPage = ({ name, form }: { name: string; form: string }): Page =>
  page(
    'Sign out',
    `<h1>Sign out</h1>
<p class="soft">Do you want to sign out of ${escapeHtml(name)}?</p>
${form}
<button type="submit" form="op.logoutForm" name="logout" value="yes">Sign out</button>`,
  )

export const loggedOutPage = ({ name }: { name: string }): Page =>
  page(
    'Signed out',
    `<h1>Signed out</h1>\n<p class="soft">You are signed out of ${escapeHtml(name)}. You can close this page.</p>`,
  )
