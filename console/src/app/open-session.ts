/** Begins the sign-in and the loading of the first page. It runs before anything is rendered, so that requests and rendering overlap. */
import type { QueryClient } from '@tanstack/react-query'
import { type Client, clientOf } from '../api/client.ts'
import { consolePath } from '../api/platform.ts'
import { createQueryClient } from '../api/query-client.ts'
import { createSession, type Session } from '../api/session.ts'
import { preloadPage } from './page-view.tsx'
import { recentTenants } from './tenants.ts'

export interface Start {
  tenant: string
  /** True if the browser comes from the sign-in page. */
  returned: boolean
  /** True if the tab was opened to sign in; it closes afterwards. */
  closes: boolean
}

export interface OpenedSession extends Start {
  /** The value of `ClientContext`. It stays the same object, because a new object would render all components again. */
  context: { session: Session; client: Client }
  /** True if the sign-in probably needs no form. The frame is then rendered during the sign-in, and shown after it. */
  isExpected: boolean
  /** Returns the cache of the user, and a key that changes with the cache. */
  cacheOf(user: string | undefined): { queries: QueryClient; key: string }
}

/** The path of a page below `/console/<tenant>`. */
const pathInTenant = (pathname: string) => `/${pathname.slice(consolePath.length).split('/').slice(2).join('/')}`

export function openSession(start: Start): OpenedSession {
  const { tenant, returned, closes } = start
  const session = createSession(tenant)
  void session.start({ returned })
  if (!closes) preloadPage(pathInTenant(location.pathname))
  return {
    ...start,
    context: { session, client: clientOf(session) },
    isExpected: !closes && (returned || recentTenants().includes(tenant)),
    cacheOf: createCaches(),
  }
}

/**
 * Keeps one cache for each user who signs in on this page, so that the page shows no data or input of the previous user. The first user gets
 * the cache that was used before the sign-in.
 */
function createCaches(): OpenedSession['cacheOf'] {
  let [queries, users, last] = [createQueryClient(), 0, undefined as string | undefined]
  return (user) => {
    if (user !== undefined && user !== last) {
      if (last !== undefined) [queries, users] = [createQueryClient(), users + 1]
      last = user
    }
    return { queries, key: String(users) }
  }
}
