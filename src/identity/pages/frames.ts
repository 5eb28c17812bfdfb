/**
 * Pages that Keycloak's JavaScript adapter loads into hidden frames of the application. One page finds out whether the browser sends
 * cookies from such a frame, the other page whether the login still exists. They show nothing, so every page may frame them.
 */
import { createHash } from 'node:crypto'
import type { Page } from './pages.ts'

function framePage(script: string, more: Record<string, string> = {}): Page {
  const hash = createHash('sha256').update(script).digest('base64')
  return {
    html: `<!doctype html>\n<html><head><meta charset="utf-8"><title>Waypost</title><script>${script}</script></head><body></body></html>\n`,
    headers: {
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'content-security-policy': `default-src 'none'; script-src 'sha256-${hash}'; connect-src 'self'; base-uri 'none'; frame-ancestors *`,
      ...more,
    },
  }
}

const testCookie = 'waypost_frame_test'

/** Returns a page that sets a test cookie with the attributes of a login cookie, and redirects to the page `cookieResultPage`. */
export const cookieTestPage = (path: string, isSecure: boolean): Page =>
  framePage(`location.replace('step2.html')`, {
    'set-cookie': `${testCookie}=1; Path=${path}; Max-Age=60; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`,
  })

export const cookieResultPage = (cookies: string | undefined): Page =>
  framePage(`parent.postMessage('${cookies?.includes(`${testCookie}=1`) ? 'supported' : 'unsupported'}', '*')`)

/** Returns a page that checks a login whose id the application sends, and answers `unchanged`, `changed` or `error`. It needs no cookie. */
export const loginStatusPage = (): Page =>
  framePage(`
addEventListener('message', async (event) => {
  if (typeof event.data !== 'string') return
  const [client = '', session = ''] = event.data.split(' ')
  const answer = (text) => event.source.postMessage(text, event.origin)
  const query = new URLSearchParams({ client_id: client, origin: event.origin, session })
  try {
    const { status } = await fetch('login-status-iframe.html/init?' + query)
    answer(status === 204 ? 'unchanged' : status === 404 ? 'changed' : 'error')
  } catch {
    answer('error')
  }
})
`)
