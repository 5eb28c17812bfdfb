/** The frame of every page: navigation, head with search and account, banners, and the page itself. */
import { useQueryClient } from '@tanstack/react-query'
import { Suspense, useEffect, useMemo, useState } from 'react'
import { Router } from 'wouter'
import { useSession } from '../api/client.ts'
import { commandTexts } from '../api/commands.ts'
import { usePermissionChanges } from '../api/live.ts'
import { useMe } from '../api/me.ts'
import { consolePath } from '../api/platform.ts'
import type { PageEntry } from '../pages/registry.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { isMissingFile, lazyFile } from '../parts/lazy-file.tsx'
import { ServicesContext } from '../parts/services.tsx'
import { usePendingLeave } from '../parts/unsaved.ts'
import { Banners } from './banners.tsx'
import { Brand } from './brand.tsx'
import { Navigation } from './navigation.tsx'
import { PageView } from './page-view.tsx'
import { findPage, mayOpen } from './routes.ts'
import { texts } from './texts.ts'
import { useShortcuts } from './use-shortcuts.ts'

// Menus and dialogs are a third of the code of the frame. They are loaded when they are needed, so that the first page does not wait for
// them.
const Account = lazyFile(() => import('./account.tsx'))
const Drawer = lazyFile(() => import('./drawer.tsx'))
const LeaveDialog = lazyFile(() => import('./leave-dialog.tsx'))
const Shortcuts = lazyFile(() => import('./shortcuts.tsx'))
const loadPalette = () => import('./palette.tsx')
const Palette = lazyFile(loadPalette)

interface Props {
  /** If true, nothing of the page is shown, but the page keeps its input. */
  isHidden: boolean
  /**
   * If true, nothing is shown until the permissions of the caller are known, because until then the navigation also lists pages that the
   * caller may not open.
   */
  waitsForMe: boolean
}

/** The frame of the console. */
export function Shell({ isHidden, waitsForMe }: Props) {
  const { session } = useSession()
  const base = `${consolePath}/${encodeURIComponent(session.tenant)}`
  const { data: me, problem } = useMe()
  const isWaiting = waitsForMe && !me && !problem
  const services = useMemo(() => {
    // Every link of a table calls this function, so the result for a page is computed only once.
    const known = new Map<PageEntry, boolean>()
    const mayOpenPath = (path: string) => {
      const page = me && findPage(path.split(/[?#]/)[0]!)?.page
      if (!page) return true
      const isPermitted = known.get(page) ?? mayOpen(me, session.tenant, page)
      known.set(page, isPermitted)
      return isPermitted
    }
    return { commandTexts, mayOpen: mayOpenPath }
  }, [me, session.tenant])
  return (
    <Router base={base}>
      <ServicesContext value={services}>
        <Frame isHidden={isHidden || isWaiting} showsAllPages={isWaiting} />
      </ServicesContext>
    </Router>
  )
}

/** Time after which the palette is loaded in the background, so that a user who opens it later does not wait for its file. */
const preloadMs = 2_000

/** Reads all data of the page again when the permissions of the caller change. */
function usePresentPermissions() {
  const queries = useQueryClient()
  usePermissionChanges(() => void queries.invalidateQueries())
}

function preloadPalette() {
  loadPalette().catch((error: unknown) => {
    // A missing file is ignored here, because the palette reports it when it is opened.
    if (!isMissingFile(error)) throw error
  })
}

function Frame({ isHidden, showsAllPages }: { isHidden: boolean; showsAllPages: boolean }) {
  const isLeaving = usePendingLeave() !== undefined
  usePresentPermissions()
  const [isNavigationOpen, setNavigationOpen] = useState(false)
  const [open, setOpen] = useState<'palette' | 'shortcuts'>()
  useEffect(() => {
    const timer = setTimeout(preloadPalette, preloadMs)
    return () => clearTimeout(timer)
  }, [])
  useShortcuts({ onPalette: () => setOpen('palette'), onShortcuts: () => setOpen('shortcuts') })
  return (
    <div className="frame" hidden={isHidden}>
      <a className="skip" href="#content">
        {texts.skip}
      </a>
      <aside className="sidebar">
        <Brand />
        <Navigation showsAll={showsAllPages} />
      </aside>
      <div className="stage">
        <header className="topbar">
          <span className="narrow-only">
            <IconButton icon="menu" label={texts.openNavigation} onPress={() => setNavigationOpen(true)} />
          </span>
          <Button look="plain" icon="search" onPress={() => setOpen('palette')}>
            <span className="topbar-search">{texts.search}</span>
            <kbd className="wide-only">{texts.paletteKeys}</kbd>
          </Button>
          <span className="topbar-space" />
          <Suspense fallback={<span className="avatar" />}>
            <Account onShortcuts={() => setOpen('shortcuts')} />
          </Suspense>
        </header>
        <Banners />
        <main id="content" className="content" tabIndex={-1}>
          <div className="page">
            <PageView />
          </div>
        </main>
      </div>
      <Suspense>{isLeaving && <LeaveDialog />}</Suspense>
      <Suspense>{isNavigationOpen && <Drawer onClose={() => setNavigationOpen(false)} />}</Suspense>
      <Suspense>{open === 'palette' && <Palette onClose={() => setOpen(undefined)} />}</Suspense>
      <Suspense>{open === 'shortcuts' && <Shortcuts onClose={() => setOpen(undefined)} />}</Suspense>
    </div>
  )
}
