/** The frame of every page: navigation, head with search and account, banners, and the page itself. */
import { type ReactNode, useMemo, useState } from 'react'
import { Dialog as AriaDialog, Modal, ModalOverlay, RouterProvider } from 'react-aria-components'
import { Router, useLocation } from 'wouter'
import { useSession } from '../api/client.ts'
import { commandTexts } from '../api/commands.ts'
import { useMe } from '../api/me.ts'
import { baseUrl, consolePath, version } from '../api/platform.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { Icon } from '../parts/icons.tsx'
import { Menu, type MenuEntry } from '../parts/menu.tsx'
import { ServicesContext } from '../parts/services.tsx'
import { Text } from '../parts/text.tsx'
import { Banners } from './banners.tsx'
import { Navigation } from './navigation.tsx'
import { PageView } from './page-view.tsx'
import { Palette } from './palette.tsx'
import { Shortcuts } from './shortcuts.tsx'
import { texts } from './texts.ts'
import { readTheme, setTheme, type Theme } from './theme.ts'
import { useShortcuts } from './use-shortcuts.ts'

export function Shell() {
  const { session } = useSession()
  const base = `${consolePath}/${encodeURIComponent(session.tenant)}`
  const services = useMemo(() => ({ commandTexts }), [])
  return (
    <Router base={base}>
      <Routed base={base}>
        <ServicesContext value={services}>
          <Frame />
        </ServicesContext>
      </Routed>
    </Router>
  )
}

/** Lets links of menus and lists navigate within the page. */
function Routed({ base, children }: { base: string; children: ReactNode }) {
  const [, navigate] = useLocation()
  return (
    <RouterProvider
      navigate={(path) => navigate(path)}
      useHref={(path) => (/^\w+:|^~/.test(path) ? path : base + path)}
    >
      {children}
    </RouterProvider>
  )
}

function Frame() {
  const [isNavigationOpen, setNavigationOpen] = useState(false)
  const [open, setOpen] = useState<'palette' | 'shortcuts'>()
  useShortcuts({ onPalette: () => setOpen('palette'), onShortcuts: () => setOpen('shortcuts') })
  return (
    <div className="frame">
      <a className="skip" href="#content">
        {texts.skip}
      </a>
      <aside className="sidebar">
        <Brand />
        <Navigation />
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
          <Account onShortcuts={() => setOpen('shortcuts')} />
        </header>
        <Banners />
        <main id="content" className="content" tabIndex={-1}>
          <div className="page">
            <PageView />
          </div>
        </main>
      </div>
      <ModalOverlay className="overlay" isOpen={isNavigationOpen} onOpenChange={setNavigationOpen} isDismissable>
        <Modal className="drawer">
          <AriaDialog aria-label={texts.navigation} className="drawer-body">
            <div className="drawer-head">
              <Brand />
              <IconButton icon="x" label={texts.closeNavigation} onPress={() => setNavigationOpen(false)} />
            </div>
            <Navigation onNavigate={() => setNavigationOpen(false)} />
          </AriaDialog>
        </Modal>
      </ModalOverlay>
      <Palette isOpen={open === 'palette'} onClose={() => setOpen(undefined)} />
      <Shortcuts isOpen={open === 'shortcuts'} onClose={() => setOpen(undefined)} />
    </div>
  )
}

function Brand() {
  const { session } = useSession()
  return (
    <div className="brand">
      <Icon name="waypost" size={22} />
      <span className="brand-texts">
        {texts.product}
        <span className="brand-tenant">
          <Text value={session.tenant} max={40} />
        </span>
      </span>
    </div>
  )
}

const themes: { theme: Theme; icon: 'monitor' | 'sun' | 'moon' }[] = [
  { theme: 'system', icon: 'monitor' },
  { theme: 'light', icon: 'sun' },
  { theme: 'dark', icon: 'moon' },
]

function Account({ onShortcuts }: { onShortcuts(): void }) {
  const { session } = useSession()
  const { data: me } = useMe()
  const [theme, choose] = useState(readTheme)
  const name = me?.username ?? me?.subject.id ?? ''
  const entries: MenuEntry[] = [
    ...themes.map(({ theme: one, icon }) => ({
      id: `theme-${one}`,
      icon: one === theme ? ('check' as const) : icon,
      label: texts.themes[one],
      onAction: () => {
        setTheme(one)
        choose(one)
      },
    })),
    'line',
    { id: 'shortcuts', icon: 'keyboard', label: texts.shortcuts, onAction: onShortcuts },
    { id: 'reference', icon: 'code', label: texts.reference, onAction: () => void window.open(`${baseUrl}/docs`) },
    {
      id: 'status',
      icon: 'activity',
      label: `${texts.status} (${version})`,
      onAction: () => void window.open(`${baseUrl}/status`),
    },
    'line',
    {
      ...{ id: 'account', icon: 'user', label: texts.account },
      onAction: () => void window.open(`${baseUrl}/auth/realms/${encodeURIComponent(session.tenant)}/account`),
    },
    {
      id: 'switch',
      icon: 'building',
      label: texts.switchTenant,
      onAction: () => location.assign(`${consolePath}?choose`),
    },
    { id: 'sign-out', icon: 'logOut', label: texts.signOut, onAction: () => void session.signOut() },
  ]
  return (
    <Menu
      label={texts.you}
      entries={entries}
      trigger={
        <Button look="quiet">
          <span className="visually-hidden">{texts.you}</span>
          <span className="avatar" aria-hidden="true">
            {name.slice(0, 1).toUpperCase()}
          </span>
          <span className="wide-only">
            <Text value={name} max={30} />
          </span>
          <Icon name="chevronDown" size={14} />
        </Button>
      }
    />
  )
}
