/** The session of a person in one tenant. Tokens are in memory only; a reload signs in through the provider's session. */
import { consolePath } from './platform.ts'
import { NoTenantError, openProvider, type Provider, type Tokens } from './provider.ts'

export type SessionState =
  | { kind: 'starting' }
  | { kind: 'signed-in' }
  | { kind: 'signed-out' }
  /** The session ended while the page is open; what was typed stays. */
  | { kind: 'expired' }
  | { kind: 'no-tenant' }
  /** The browser returned from the sign-in page without a session, so going there again would not help. */
  | { kind: 'no-cookies' }
  | { kind: 'failed'; error: unknown }

export interface Session {
  tenant: string
  state(): SessionState
  subscribe(listener: () => void): () => void
  /** Signs in: silently, or by the sign-in page. `returned`: the browser comes from there. */
  start(returned: boolean): Promise<void>
  /** Returns an access token; gets the one that the platform rejected, if any. */
  token(rejected?: string): Promise<string>
  signOut(): Promise<void>
  /** Opens the sign-in page: here, or in another tab so that this page keeps what was typed. */
  signInAgain(where: 'here' | 'new-tab'): Promise<void>
  close(): void
}

/** Thrown to callers that need a token when there is no session. */
export class SessionEndedError extends Error {
  override readonly name = 'SessionEndedError'
}

type Message = { kind: 'signed-in' | 'signed-out'; tenant: string }

const renewSecondsBefore = 60

export function createSession(tenant: string): Session {
  const listeners = new Set<() => void>()
  const channel = new BroadcastChannel('waypost-session')
  let state: SessionState = { kind: 'starting' }
  let tokens: Tokens | undefined
  const connect = retried(() => openProvider(tenant))
  let renewal: Promise<Tokens> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  function become(next: SessionState) {
    state = next
    for (const listener of listeners) listener()
  }

  function keep(fresh: Tokens): Tokens {
    tokens = fresh
    clearTimeout(timer)
    const lifetimeMs = fresh.expiresAt - Date.now()
    timer = setTimeout(() => void renew().catch(() => {}), Math.max(1000, lifetimeMs - marginMs(lifetimeMs)))
    if (state.kind !== 'signed-in') become({ kind: 'signed-in' })
    return fresh
  }

  /** Renews the tokens once for all callers: by the refresh token, or by the provider's session. */
  function renew(): Promise<Tokens> {
    renewal ??= renewNow().finally(() => {
      renewal = undefined
    })
    return renewal
  }

  async function renewNow(): Promise<Tokens> {
    const connected = await connect()
    const refreshed = tokens && (await connected.refresh(tokens).catch(() => undefined))
    const fresh = refreshed ?? (await connected.signInSilently())
    if (fresh) return keep(fresh)
    forget()
    if (state.kind === 'signed-in') become({ kind: 'expired' })
    throw new SessionEndedError('Your session has ended')
  }

  function forget() {
    tokens = undefined
    clearTimeout(timer)
  }

  async function start(returned: boolean) {
    become({ kind: 'starting' })
    try {
      const connected = await connect()
      const fresh = await connected.signInSilently()
      if (fresh) {
        keep(fresh)
        if (returned) channel.postMessage({ kind: 'signed-in', tenant } satisfies Message)
      } else if (returned) become({ kind: 'no-cookies' })
      else await goToSignIn(connected)
    } catch (error) {
      become(error instanceof NoTenantError ? { kind: 'no-tenant' } : { kind: 'failed', error })
    }
  }

  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.tenant !== tenant || state.kind === 'starting') return
    if (data.kind === 'signed-in') return state.kind === 'signed-in' ? undefined : void renew().catch(() => {})
    forget()
    become({ kind: 'signed-out' })
  }

  return {
    tenant,
    state: () => state,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    start,
    async token(rejected) {
      if (tokens === undefined && state.kind === 'signed-out') throw new SessionEndedError('You are signed out')
      const isGood = tokens !== undefined && tokens.accessToken !== rejected && tokens.expiresAt > Date.now() + 5000
      return (isGood ? tokens! : await renew()).accessToken
    },
    async signOut() {
      const last = tokens
      forget()
      become({ kind: 'signed-out' })
      channel.postMessage({ kind: 'signed-out', tenant } satisfies Message)
      if (last) await (await connect()).signOut(last)
    },
    signInAgain: async (where) => (where === 'here' ? goToSignIn(await connect()) : openSignIn(tenant)),
    close() {
      forget()
      channel.close()
    },
  }
}

/** Remembers a result, but not a failure. */
function retried<T>(open: () => Promise<T>): () => Promise<T> {
  let opening: Promise<T> | undefined
  return () => {
    opening ??= open().catch((error) => {
      opening = undefined
      throw error
    })
    return opening
  }
}

const marginMs = (lifetimeMs: number) => Math.min(renewSecondsBefore * 1000, lifetimeMs / 3)

/** The new page signs in and closes itself; this one then gets a message. */
function openSignIn(tenant: string) {
  window.open(`${consolePath}/@/signed-in?${new URLSearchParams({ tenant, close: 'yes' })}`, '_blank')
}

async function goToSignIn(provider: Provider) {
  location.assign(await provider.signInAddress(location.pathname + location.search))
}
