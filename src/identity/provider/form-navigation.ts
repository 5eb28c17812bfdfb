/**
 * Handles authorization and logout requests by POST (OpenID Connect Core, 3.1.2.1; RP-Initiated Logout, 2). The browser is redirected to
 * the same endpoint by GET, because it does not send the session cookie (SameSite=Lax) with a form of another site.
 */
import type { Form } from './library.ts'

const authorizationPath = 'protocol/openid-connect/auth'
const logoutPath = 'protocol/openid-connect/logout'

/** Returns a query with the parameters of the form. Returns undefined for a request that needs no redirect to GET. */
export function queryOfForm(
  { method, path, query }: { method: string; path: string; query: string },
  form: Form,
): string | undefined {
  if (method !== 'POST') return undefined
  // A logout with one of these parameters needs no browser and is answered directly.
  const isLogout = path === logoutPath && form.id_token_hint === undefined && form.refresh_token === undefined
  if (path !== authorizationPath && !isLogout) return undefined
  const parameters = new URLSearchParams(query)
  for (const [name, value] of Object.entries(form)) for (const one of [value ?? []].flat()) parameters.append(name, one)
  return parameters.toString()
}
