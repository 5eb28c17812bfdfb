/** Lets the API reference at `/docs` use the session of the console: requests that a user tries out are sent with its token. */
import { baseUrl } from '../api/platform.ts'
import { createSession, type Session } from '../api/session.ts'
import { referenceTexts as texts } from './reference-texts.ts'
import { recentTenants } from './tenants.ts'

interface ReferenceRequest {
  url: string
  headers: Record<string, string>
}

/** docs.js calls this function before each request. */
declare global {
  interface Window {
    waypostReference?: { authorize(request: ReferenceRequest): Promise<ReferenceRequest> }
  }
}

const query = new URLSearchParams(location.search)
const session = createSession(query.get('tenant') ?? recentTenants()[0] ?? 'default')

const isOwnApi = ({ url }: ReferenceRequest) =>
  new URL(url, location.href).origin === location.origin && !url.endsWith('/openapi.json')

/** Returns whether the request has credentials that the user has entered under Authorize. They are used instead of the session. */
const hasCredentials = ({ headers }: ReferenceRequest) =>
  Object.keys(headers).some((name) => /^(?:authorization|x-identity-api-key|x-auth-token)$/i.test(name))

window.waypostReference = {
  async authorize(request) {
    if (!isOwnApi(request) || hasCredentials(request) || session.state().kind !== 'signed-in') return request
    return { ...request, headers: { ...request.headers, Authorization: `Bearer ${await session.token()}` } }
  },
}

function show(bar: HTMLElement, { tenant, state, signInAgain }: Session) {
  const { kind } = state()
  bar.replaceChildren()
  const showText = (text: string) => {
    const paragraph = document.createElement('p')
    paragraph.textContent = text
    bar.append(paragraph)
  }
  const offer = (text: string, act: () => unknown) => {
    const button = document.createElement('button')
    button.textContent = text
    button.addEventListener('click', act)
    bar.append(button)
  }
  if (kind === 'signed-in') showText(texts.signedIn(tenant))
  if (kind === 'signed-out' || kind === 'expired') {
    showText(texts.signedOut(tenant))
    offer(texts.signIn, () => signInAgain('new-tab'))
  }
  if (kind === 'no-tenant') showText(texts.noTenant(tenant))
  if (kind === 'failed') {
    showText(texts.failed)
    offer(texts.tryAgain, () => session.start({ silent: true }))
  }
  const link = document.createElement('a')
  link.href = `${baseUrl}/console`
  link.textContent = texts.console
  bar.append(link)
}

const bar = document.getElementById('session')
if (bar) {
  session.subscribe(() => show(bar, session))
  show(bar, session)
}
void session.start({ silent: true })
