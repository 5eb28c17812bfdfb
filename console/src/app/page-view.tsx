/** Shows the page of the address: loads its code, checks its scope, and moves the focus to its heading. */
import { type ComponentType, Suspense, useEffect, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { useSession } from '../api/client.ts'
import { isReduced, type Me, MeDuringEdit, useMe } from '../api/me.ts'
import type { PageProps } from '../pages/page-props.ts'
import type { PageEntry } from '../pages/registry.ts'
import { Loading } from '../parts/card.tsx'
import { isMissingFile } from '../parts/lazy-file.tsx'
import { LinkButton } from '../parts/link.tsx'
import { EmptyState, ErrorNote, Note, PermissionNote } from '../parts/notes.tsx'
import { PageHeader } from '../parts/page-header.tsx'
import { useHasUnsaved } from '../parts/unsaved.ts'
import { ErrorBoundary } from './error-boundary.tsx'
import { findPage, isReadable, mayOpen, pathOfAddress } from './routes.ts'
import { texts } from './texts.ts'

const loaded = new Map<PageEntry, ComponentType<PageProps>>()

async function load(page: PageEntry): Promise<void> {
  loaded.set(page, (await page.load()).default)
}

/** Loads the code of a page during the sign-in, so that the page can be shown directly after the sign-in. */
export function preloadPage(path: string) {
  const found = findPage(path)
  if (!found) return
  load(found.page).catch((error: unknown) => {
    // A missing file is ignored here, because the page reports it when it is opened.
    if (!isMissingFile(error)) throw error
  })
}

/**
 * Shows a page as soon as its code is loaded. `lazy` of React would show the page at least 300 ms after its fallback, even if the code was
 * loaded before.
 */
function LoadedPage({ page, params }: { page: PageEntry; params: Record<string, string> }) {
  const [state, setState] = useState<{ error?: unknown }>({})
  const Page = loaded.get(page)
  useEffect(() => {
    if (Page) return
    load(page).then(
      () => setState({}),
      (error: unknown) => setState({ error }),
    )
  }, [page, Page])
  if (state.error !== undefined) throw state.error
  return Page ? <Page params={params} /> : <Loading label={texts.loading} />
}

export function PageView() {
  const [routed] = useLocation()
  const { session } = useSession()
  const me = useMe()
  const path = routed.startsWith('~') ? routed : pathOfAddress()
  const found = isReadable(path) ? findPage(path) : undefined
  const held = useHeldMe(path, me.data)
  useFocusOnNavigation(path)
  if (!found) return <NoPage />
  if (me.problem && !me.data) return <ErrorNote problem={me.problem} onRetry={() => void me.reload()} />
  if (!me.data) return <Loading label={texts.loading} />
  const { page, params } = found
  const isPermitted = mayOpen(me.data, session.tenant, page)
  if (!mayOpen(held ?? me.data, session.tenant, page)) return <Forbidden page={page} />
  return (
    <>
      {held && isReduced(held, me.data) && (
        <Note tone="warn">{isPermitted ? texts.permissionsReduced : texts.permissionLost(scopeOf(page)!)}</Note>
      )}
      <MeDuringEdit value={held}>
        <ErrorBoundary key={path} title={page.title} onReset={() => loaded.delete(page)}>
          <Suspense fallback={<Loading label={texts.loading} />}>
            <LoadedPage page={page} params={params} key={path} />
          </Suspense>
        </ErrorBoundary>
      </MeDuringEdit>
    </>
  )
}

/** Returns the permissions that the caller had when the user began to type on this page, or undefined while there is no unsaved input. */
function useHeldMe(path: string, me: Me | undefined): Me | undefined {
  const isUnsaved = useHasUnsaved()
  const held = useRef({ path, me })
  if (!isUnsaved || held.current.path !== path || !held.current.me) held.current = { path, me }
  return isUnsaved ? held.current.me : undefined
}

const scopeOf = ({ scope }: PageEntry) => [scope].flat()[0]

const Forbidden = ({ page }: { page: PageEntry }) => (
  <>
    <PageHeader title={page.title} />
    <PermissionNote scope={scopeOf(page)} />
  </>
)

const NoPage = () => (
  <>
    <PageHeader title={texts.notFound} />
    <EmptyState
      icon="map"
      title={texts.notFoundHere}
      actions={
        <LinkButton to="/" look="primary">
          {texts.toOverview}
        </LinkButton>
      }
    >
      {texts.notFoundText}
    </EmptyState>
  </>
)

/** Moves the focus to the heading of the new page after a navigation. */
function useFocusOnNavigation(path: string) {
  const last = useRef(path)
  useEffect(() => {
    if (last.current === path) return
    last.current = path
    let attempts = 60
    const focus = () => {
      const heading = document.getElementById('page-title')
      if (heading) heading.focus({ preventScroll: true })
      else if (attempts-- > 0) requestAnimationFrame(focus)
    }
    requestAnimationFrame(focus)
    document.getElementById('content')?.scrollTo(0, 0)
  }, [path])
}
