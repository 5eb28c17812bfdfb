/** The pages that people see when they sign in and out: plain HTML without a script, under a policy that allows none. */
import { style, styleSource } from './style.ts'

export interface Page {
  html: string
  headers: Record<string, string>
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const safe = (text: string) => text.replace(/[&<>"']/g, (character) => escapes[character]!)

const mark =
  '<p class="mark"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 2v3M12 12v10M5 5h12l3 3.5L17 12H5z"/></svg>Waypost</p>'

const guards = {
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/**
 * For pages of the library: its form_post page submits itself, and the library adds the hash of that script to the
 * script-src that it finds. The form may lead wherever the application sends the browser on to.
 */
export const libraryHeaders: Page['headers'] = {
  ...guards,
  'content-security-policy': "default-src 'none'; script-src; base-uri 'none'; frame-ancestors 'none'",
}

function page(title: string, body: string, formTargets?: string): Page {
  const policy = [
    "default-src 'none'",
    `style-src ${styleSource}`,
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
<title>${safe(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
${mark}
${body}
</main>
</body>
</html>
`,
    headers: { ...guards, 'cache-control': 'no-store', 'content-security-policy': policy.join('; ') },
  }
}

export function loginPage(view: {
  name: string
  action: string
  /** Where the answer to the form finally leads: a browser checks the whole chain of redirects. */
  returnTo: string | undefined
  error?: string
  username?: string | undefined
}): Page {
  const { name, action, returnTo, error, username = '' } = view
  const target = returnTo ? URL.parse(returnTo) : null
  const source = !target || target.origin === 'null' ? (target?.protocol ?? '') : target.origin
  // After a wrong password the name is there: the cursor belongs into the next field.
  const focus = (field: 'username' | 'password') => ((username === '') === (field === 'username') ? ' autofocus' : '')
  const described = error ? ' aria-describedby="problem" aria-invalid="true"' : ''
  return page(
    `Sign in to ${name}`,
    `<h1>Sign in</h1>
<p class="soft">to ${safe(name)}</p>
${error ? `<p class="alert" id="problem" role="alert">${safe(error)}</p>` : ''}
<form method="post" action="${safe(action)}">
<label for="username">User name or e-mail</label>
<input id="username" name="username" value="${safe(username)}" autocomplete="username" autocapitalize="none" autocorrect="off"
 spellcheck="false" maxlength="255" required${described}${focus('username')}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required${described}${focus('password')}>
<button type="submit">Sign in</button>
</form>`,
    `'self' ${source}`.trim(),
  )
}

export const errorPage = (view: { name: string; title: string; text: string; code?: string }): Page =>
  page(
    view.title,
    `<h1>${safe(view.title)}</h1>
<p class="soft">${safe(view.name)}</p>
<p class="alert" role="alert">${safe(view.text)}${view.code ? ` <code>(${safe(view.code)})</code>` : ''}</p>`,
  )

/** `form` is the library's own, with its token against forged requests. */
export const confirmLogoutPage = ({ name, form }: { name: string; form: string }): Page =>
  page(
    'Sign out',
    `<h1>Sign out</h1>
<p class="soft">Do you want to sign out of ${safe(name)}?</p>
${form}
<button type="submit" form="op.logoutForm" name="logout" value="yes">Sign out</button>`,
  )

export const loggedOutPage = ({ name }: { name: string }): Page =>
  page(
    'Signed out',
    `<h1>Signed out</h1>\n<p class="soft">You are signed out of ${safe(name)}. You can close this page.</p>`,
  )
