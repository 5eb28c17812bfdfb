/** Decides what is shown after a page load: the choice of a tenant, the sign-in, or the console of a tenant. */
import { lazy, Suspense } from 'react'
import { consolePath, tenantOf } from '../api/platform.ts'
import { ToastProvider } from '../parts/toast.tsx'
import { ErrorBoundary } from './error-boundary.tsx'
import type { OpenedSession, Start } from './open-session.ts'
import { SessionGate } from './session-gate.tsx'
import { recentTenants } from './tenants.ts'
import { texts } from './texts.ts'

const TenantChoice = lazy(() => import('./tenant-choice.tsx'))

/** Reads the address once, and removes the response of the sign-in page from it. Returns undefined if the address has no tenant. */
export function readStart(): Start | undefined {
  const start = startOf()
  return start.tenant === undefined ? undefined : { ...start, tenant: start.tenant }
}

function startOf(): Omit<Start, 'tenant'> & { tenant: string | undefined } {
  const { pathname, search } = location
  if (pathname !== `${consolePath}/@/signed-in`)
    return { tenant: tenantAt(pathname, search), returned: false, closes: false }
  const query = new URLSearchParams(search)
  const to = query.get('to') ?? ''
  if (!to.startsWith(`${consolePath}/`)) {
    const tenant = query.get('tenant') ?? undefined
    return { tenant, returned: false, closes: query.has('close') }
  }
  history.replaceState(null, '', to)
  const inner = new URL(to, location.origin)
  const tenant = inner.searchParams.get('tenant') ?? tenantOf(inner.pathname)
  return { tenant, returned: true, closes: inner.pathname === `${consolePath}/@/signed-in` }
}

/** Returns the tenant of an address. `/console` alone opens the tenant that was used last, or `default` the first time. */
function tenantAt(pathname: string, search: string): string | undefined {
  const tenant = tenantOf(pathname)
  if (tenant !== undefined || search === '?choose') return tenant
  const first = recentTenants()[0] ?? 'default'
  history.replaceState(null, '', `${consolePath}/${encodeURIComponent(first)}`)
  return first
}

/** The whole console. If the address has no tenant, `opened` is undefined and the user chooses a tenant. */
export function App({ opened }: { opened: OpenedSession | undefined }) {
  return (
    <ErrorBoundary title={texts.product}>
      <ToastProvider>
        {opened ? (
          <SessionGate opened={opened} />
        ) : (
          <Suspense>
            <TenantChoice />
          </Suspense>
        )}
      </ToastProvider>
    </ErrorBoundary>
  )
}
