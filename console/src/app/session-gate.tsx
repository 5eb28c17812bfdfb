/** Shows the console when there is a session. Without a session, explains why. */
import { QueryClientProvider } from '@tanstack/react-query'
import { Suspense, useEffect, useRef, useSyncExternalStore } from 'react'
import { ClientContext } from '../api/client.ts'
import { consolePath } from '../api/platform.ts'
import { isTemporary, problemOf } from '../api/problems.ts'
import type { Session, SessionState } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { lazyFile } from '../parts/lazy-file.tsx'
import { ErrorNote } from '../parts/notes.tsx'
import { useHasUnsaved } from '../parts/unsaved.ts'
import type { OpenedSession } from './open-session.ts'
import { StoredPreferences } from './preferences.tsx'
import { Shell } from './shell.tsx'
import { StandAlone } from './stand-alone.tsx'
import { rememberTenant } from './tenants.ts'
import { texts } from './texts.ts'

const ExpiredDialog = lazyFile(() => import('./expired-dialog.tsx'))

/**
 * Shows the console, or why there is no session. If the sign-in probably needs no form, the frame is rendered during the first sign-in and
 * hidden until the sign-in has ended. The requests of the frame wait for the sign-in (`session.token`), and are sent immediately after it.
 */
export function SessionGate({ opened }: { opened: OpenedSession }) {
  const { context, tenant, closes, isExpected } = opened
  const { session } = context
  const state = useSyncExternalStore(session.subscribe, session.state)
  const user = useSyncExternalStore(session.subscribe, session.user)
  const { queries, key } = opened.cacheOf(user)
  const hasUnsaved = useHasUnsaved()
  const isFirst = useRef(true)
  if (state.kind !== 'starting') isFirst.current = false
  const isPrepared = isExpected && isFirst.current && state.kind === 'starting' && state.isAsked === true
  const isSignedOut = state.kind === 'signed-out'
  useEffect(() => {
    if (state.kind === 'signed-in') rememberTenant(tenant)
    if (state.kind === 'signed-in' && closes) window.close()
    if (isSignedOut && !hasUnsaved) queries.clear()
  }, [state, tenant, closes, queries, isSignedOut, hasUnsaved])

  if (state.kind === 'signed-in' && closes) return <StandAlone title={texts.closeTab} />
  const isOpen = state.kind === 'signed-in' || state.kind === 'expired' || (isSignedOut && hasUnsaved)
  if (!isOpen && !isPrepared) return <NoSession state={state as WithoutSession} session={session} />
  return (
    <>
      {isPrepared && <NoSession state={state as WithoutSession} session={session} />}
      <ClientContext value={context}>
        <QueryClientProvider client={queries} key={key}>
          <StoredPreferences />
          <Shell isHidden={isSignedOut || isPrepared} waitsForMe={isExpected} />
          <Suspense>
            {isOpen && state.kind !== 'signed-in' && <ExpiredDialog session={session} isSignedOut={isSignedOut} />}
          </Suspense>
        </QueryClientProvider>
      </ClientContext>
    </>
  )
}

const retryMs = 5_000

/** Shows that the sign-in failed. If the problem is temporary, the sign-in is tried again automatically; the key r tries it immediately. */
function Failed({ error, session }: { error: unknown; session: Session }) {
  const problem = problemOf(error)
  const retry = () => void session.start({})
  const waitMs = isTemporary(problem) ? Math.max(retryMs, (problem.retryAfterSeconds ?? 0) * 1000) : undefined
  useEffect(() => {
    const timer = waitMs === undefined ? undefined : setTimeout(() => void session.start({}), waitMs)
    const onKey = ({ key, ctrlKey, metaKey, altKey }: KeyboardEvent) => {
      if (key === 'r' && !ctrlKey && !metaKey && !altKey) void session.start({})
    }
    addEventListener('keydown', onKey)
    return () => {
      clearTimeout(timer)
      removeEventListener('keydown', onKey)
    }
  }, [session, waitMs])
  return (
    <StandAlone title={texts.failed}>
      <ErrorNote problem={problem} onRetry={retry} />
      {waitMs !== undefined && <p>{texts.retrying}</p>}
    </StandAlone>
  )
}

type WithoutSession = Exclude<SessionState, { kind: 'signed-in' | 'expired' }>

function NoSession({ state, session }: { state: WithoutSession; session: Session }) {
  const signIn = (
    <Button look="primary" onPress={() => void session.signInAgain('here')}>
      {texts.signIn}
    </Button>
  )
  switch (state.kind) {
    case 'starting':
    case 'signing-out':
      return (
        <div className="starting" role="status">
          <span className="visually-hidden">{state.kind === 'starting' ? texts.signingIn : texts.signingOut}</span>
        </div>
      )
    case 'sign-out-failed':
      return (
        <StandAlone title={texts.signOutFailed} text={texts.signOutFailedText}>
          <ErrorNote problem={problemOf(state.error)} onRetry={() => void session.signOut()} />
          <Button onPress={() => void session.start({})}>{texts.keepSession}</Button>
        </StandAlone>
      )
    case 'signed-out':
      return (
        <StandAlone title={texts.signedOut} text={texts.signedOutText}>
          {signIn}
        </StandAlone>
      )
    case 'no-tenant':
      return (
        <StandAlone title={texts.noTenant} text={texts.noTenantText(session.tenant.slice(0, 100))}>
          <a className="button button-primary" href={`${consolePath}?choose`}>
            {texts.chooseTenant}
          </a>
        </StandAlone>
      )
    case 'no-cookies':
      return (
        <StandAlone title={texts.noCookies} text={texts.noCookiesText}>
          {signIn}
        </StandAlone>
      )
    case 'failed':
      return <Failed error={state.error} session={session} />
  }
}
