/**
 * The session of a person in one tenant. Tokens are in memory only. After a reload, the page signs in through the session at the provider.
 */
import { consolePath } from './platform.ts'
import { NoTenantError, openProvider, type Provider, type Tokens } from './provider.ts'

export type SessionState =
  /** `isAsked`: the request for tokens was sent. The page can render its frame while it waits for the response. */
  | { kind: 'starting'; isAsked?: boolean }
  | { kind: 'signed-in' }
  | { kind: 'signing-out' }
  | { kind: 'signed-out' }
  /** The provider could not end its session, so anyone who uses this browser could continue the session. */
  | { kind: 'sign-out-failed'; error: unknown }
  /** The session ended while the page is open. The page keeps the input. */
  | { kind: 'expired' }
  | { kind: 'no-tenant' }
  /** The browser returned from the sign-in page without a session, so opening that page again would not help. */
  | { kind: 'no-cookies' }
  | { kind: 'failed'; error: unknown }

export interface Session {
  tenant: string
  state(): SessionState
  subscribe(listener: () => void): () => void
  /** Id of the user who signed in last on this page. */
  user(): string | undefined
  /**
   * Signs in without a form, or else opens the sign-in page. `returned`: the browser comes from the sign-in page. `silent`: the sign-in
   * page is not opened; without a session at the provider, the state becomes signed-out.
   */
  start(options: StartOptions): Promise<void>
  /** Returns the seconds by which the clock of the platform is ahead of the clock of the browser; 0 until the difference is known. */
  secondsAhead(): number
  /** Returns an access token. `rejected` is the token that the platform has rejected, if any. */
  token(rejected?: string): Promise<string>
  /** Ends the session at the provider, then in all tabs. If the provider does not respond, the state becomes sign-out-failed. */
  signOut(): Promise<void>
  /** Opens the sign-in page in this tab, or in another tab so that this page keeps its input. */
  signInAgain(where: 'here' | 'new-tab'): Promise<void>
}

interface StartOptions {
  returned?: boolean
  silent?: boolean
}

/** Thrown to callers that need a token when there is no session. */
export class SessionEndedError extends Error {
  override readonly name = 'SessionEndedError'
}

type Message = { kind: 'signed-in' | 'signed-out'; tenant: string }

const renewSecondsBefore = 60
/** Time after which a renewal is tried again if it failed because the platform did not respond. */
const renewAgainMs = 5_000

/** The tokens of the session, and their renewal. */
interface Keeper {
  current(): Tokens | undefined
  /**
   * Gets tokens through the session at the provider, and stores them. Returns undefined if there is no session. `onSent` is called when the
   * first request is sent. Throws SessionEndedError if `forget` was called meanwhile.
   */
  signIn(onSent?: () => void): Promise<Tokens | undefined>
  /** Renews the tokens once for all callers, with the refresh token or through the session at the provider. */
  renew(): Promise<Tokens>
  /** Renews the tokens, and tries again until the platform responds. Meanwhile the requests of the page report the problem. */
  renewInBackground(): void
  /** Resolves when no renewal is in progress. */
  settled(): Promise<unknown>
  /** Forgets the tokens, because the login has ended. Tokens that still arrive belong to that login and are not stored. */
  forget(): void
}

function createKeeper(
  connect: () => Promise<Provider>,
  on: { stored(fresh: Tokens): unknown; ended(): unknown },
): Keeper {
  let tokens: Tokens | undefined
  let renewal: Promise<Tokens> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  /** Number of logins of this page that have ended. */
  let endedLogins = 0

  function store(fresh: Tokens): Tokens {
    tokens = fresh
    clearTimeout(timer)
    const lifetimeMs = fresh.expiresAt - Date.now()
    timer = setTimeout(renewInBackground, Math.max(1000, lifetimeMs - marginMs(lifetimeMs)))
    // The new state is set in the next task, so that requests that wait for a token are sent before the page is rendered.
    void nextTask().then(() => tokens && on.stored(tokens))
    return fresh
  }

  /** Gets tokens and stores them. If the login ends during the request, the tokens belong to the ended login and are not stored. */
  async function storeFrom(request: () => Promise<Tokens | undefined>): Promise<Tokens | undefined> {
    const ended = endedLogins
    const fresh = await request()
    if (ended !== endedLogins) throw new SessionEndedError('You are signed out')
    return fresh && store(fresh)
  }

  const signIn = (onSent?: () => void) => storeFrom(async () => await (await connect()).signInSilently(onSent))

  function renew(): Promise<Tokens> {
    if (renewal) return renewal
    const started = renewNow().finally(() => {
      if (renewal === started) renewal = undefined
    })
    renewal = started
    return started
  }

  function renewInBackground() {
    clearTimeout(timer)
    const ended = endedLogins
    renew().catch((error) => {
      // If the session has ended, the state of the session shows it, so no further attempt is made.
      if (error instanceof SessionEndedError || ended !== endedLogins) return
      timer = setTimeout(renewInBackground, renewAgainMs)
    })
  }

  async function renewNow(): Promise<Tokens> {
    const fresh = (await storeFrom(refresh)) ?? (await signIn())
    if (fresh) return fresh
    forget()
    on.ended()
    throw new SessionEndedError('Your session has ended')
  }

  /**
   * Gets tokens with the refresh token. A refresh token works only once. If the response is lost, the token may be invalid, so the next
   * attempt uses the session at the provider.
   */
  async function refresh(): Promise<Tokens | undefined> {
    const connected = await connect()
    if (tokens?.refreshToken === undefined) return undefined
    const used = tokens
    tokens = { ...used, refreshToken: undefined }
    return await connected.refresh(used)
  }

  function forget() {
    endedLogins++
    tokens = undefined
    renewal = undefined
    clearTimeout(timer)
  }

  return {
    current: () => tokens,
    signIn,
    renew,
    renewInBackground,
    settled: async () => await renewal?.catch(() => {}),
    forget,
  }
}

/**
 * Returns whether new tokens change the state of the session to signed-in. They do not if the session is already signed in or the user is
 * signing out.
 */
const canContinue = ({ kind }: SessionState) => !['signed-in', 'signing-out', 'sign-out-failed'].includes(kind)

const withoutTokens = ['starting', 'failed', 'no-tenant', 'no-cookies']

/**
 * Throws if the session cannot give a token to a caller. Must be called only when no sign-in is in progress, because a sign-in can still
 * get a token.
 */
function throwIfEnded({ kind }: SessionState, tokens: Tokens | undefined) {
  if (kind === 'signed-out' || kind === 'signing-out') throw new SessionEndedError('You are signed out')
  if (kind === 'expired') throw new SessionEndedError('Your session has ended')
  if (!tokens && withoutTokens.includes(kind)) throw new SessionEndedError('You are not signed in')
}

/** Waits until the browser has run all tasks that are ready. A timer is not used, because in a hidden tab it would wait for a second. */
const nextTask = () =>
  new Promise<void>((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(undefined)
  })

/** Holds the state of a session, and calls the listeners when it changes. */
function createState() {
  const listeners = new Set<() => void>()
  let state: SessionState = { kind: 'starting' }
  return {
    get: () => state,
    set(next: SessionState) {
      state = next
      for (const listener of listeners) listener()
    },
    subscribe(listener: () => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export function createSession(tenant: string): Session {
  const otherTabs = openOtherTabs(tenant)
  const state = createState()
  let secondsAhead = 0
  let user: string | undefined
  /** Resolves when the sign-in that is in progress ends, with or without tokens. Undefined if no sign-in is in progress. */
  let starting: Promise<void> | undefined
  const connect = retried(async () => {
    const provider = await openProvider(tenant)
    secondsAhead = provider.secondsAhead
    return provider
  })
  const tokens = createKeeper(connect, {
    stored({ userId }) {
      const isOtherUser = state.get().kind === 'signed-in' && userId !== user
      if (!isOtherUser && !canContinue(state.get())) return
      user = userId
      state.set({ kind: 'signed-in' })
    },
    ended: () => state.get().kind === 'signed-in' && state.set({ kind: 'expired' }),
  })

  function start(options: StartOptions): Promise<void> {
    starting ??= startNow(options).finally(() => {
      starting = undefined
    })
    return starting
  }

  async function startNow(options: StartOptions): Promise<void> {
    const { returned = false, silent = false } = options
    state.set({ kind: 'starting' })
    try {
      const fresh = await tokens.signIn(() => state.set({ kind: 'starting', isAsked: true }))
      if (fresh) {
        if (returned) otherTabs.send('signed-in')
      } else if (silent) state.set({ kind: 'signed-out' })
      else if (returned) state.set({ kind: 'no-cookies' })
      else await goToSignIn(await connect())
    } catch (error) {
      // Another tab signed out during the sign-in. The provider is asked again, because a user may have signed in since then.
      if (error instanceof SessionEndedError) return await startNow(options)
      state.set(error instanceof NoTenantError ? { kind: 'no-tenant' } : { kind: 'failed', error })
    }
  }

  /**
   * Ends the session at the provider. The provider identifies the session by an ID token, so a page without tokens first gets tokens.
   */
  async function endAtProvider() {
    const connected = await connect()
    const last = tokens.current() ?? (await connected.signInSilently())
    if (last) await connected.signOut(last)
  }

  /** Continues the session after another tab has signed in. First waits for a renewal that may have begun before that sign-in. */
  async function continueSession() {
    await tokens.settled()
    if (state.get().kind !== 'signed-in' && !starting) tokens.renewInBackground()
  }

  otherTabs.listen({
    'signed-in': continueSession,
    'signed-out'() {
      tokens.forget()
      // A sign-in that is in progress asks the provider again.
      if (!starting) state.set({ kind: 'signed-out' })
    },
  })

  return {
    tenant,
    state: state.get,
    user: () => user,
    subscribe: state.subscribe,
    start,
    secondsAhead: () => secondsAhead,
    async token(rejected) {
      await starting
      const known = tokens.current()
      throwIfEnded(state.get(), known)
      const isGood = known && known.accessToken !== rejected && known.expiresAt > Date.now() + 5000
      return (isGood ? known : await tokens.renew()).accessToken
    },
    async signOut() {
      state.set({ kind: 'signing-out' })
      try {
        await endAtProvider()
      } catch (error) {
        return state.set({ kind: 'sign-out-failed', error })
      }
      tokens.forget()
      state.set({ kind: 'signed-out' })
      otherTabs.send('signed-out')
    },
    signInAgain: async (where) => (where === 'here' ? goToSignIn(await connect()) : openSignIn(tenant)),
  }
}

/** Sends messages to the other tabs of the tenant, and receives their messages. */
function openOtherTabs(tenant: string) {
  const channel = openChannel()
  return {
    send: (kind: Message['kind']) => channel?.postMessage({ kind, tenant } satisfies Message),
    listen(on: Record<Message['kind'], () => unknown>) {
      if (!channel) return
      channel.onmessage = ({ data }: MessageEvent<Message>) => {
        if (data.tenant === tenant) on[data.kind]()
      }
    },
  }
}

/**
 * Opens a channel between the tabs. A browser that denies storage may also deny the channel; each tab then detects
 * the end of the session itself.
 */
function openChannel(): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel('waypost-session')
  } catch {
    return undefined
  }
}

/** Jump of the clock of the computer after which the difference to the clock of the platform is measured again. */
const clockChangeMs = 60_000

/**
 * Returns a function that caches the result of `open`. It does not cache failures. It calls `open` again after the clock was changed or the
 * computer slept.
 */
function retried<T>(open: () => Promise<T>): () => Promise<T> {
  let opening: Promise<T> | undefined
  let begin = 0
  return () => {
    const now = Date.now() - performance.now()
    if (Math.abs(now - begin) > clockChangeMs) opening = undefined
    if (!opening) begin = now
    opening ??= open().catch((error) => {
      opening = undefined
      throw error
    })
    return opening
  }
}

const marginMs = (lifetimeMs: number) => Math.min(renewSecondsBefore * 1000, lifetimeMs / 3)

/** Opens the sign-in page in a new tab. The new tab signs in, closes itself and notifies this page. */
function openSignIn(tenant: string) {
  window.open(`${consolePath}/@/signed-in?${new URLSearchParams({ tenant, close: 'yes' })}`, '_blank')
}

async function goToSignIn(provider: Provider) {
  location.assign(await provider.signInAddress(location.pathname + location.search))
}
