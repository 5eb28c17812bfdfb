/** The menu of the account: theme, help, and the end of the session. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useSession } from '../api/client.ts'
import { useMe } from '../api/me.ts'
import { baseUrl, consolePath, version } from '../api/platform.ts'
import { usePreferences } from '../api/preferences.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icons.tsx'
import { Menu, type MenuEntry } from '../parts/menu.tsx'
import { Text } from '../parts/text.tsx'
import { chooseTheme, type Theme } from '../parts/theme.ts'
import { leave } from '../parts/unsaved.ts'
import { texts } from './texts.ts'
import { readTheme } from './theme.ts'

const themes: { theme: Theme; icon: 'monitor' | 'sun' | 'moon' }[] = [
  { theme: 'system', icon: 'monitor' },
  { theme: 'light', icon: 'sun' },
  { theme: 'dark', icon: 'moon' },
]

export default function Account({ onShortcuts }: { onShortcuts(): void }) {
  const { session } = useSession()
  const { data: me } = useMe()
  const [theme, choose] = useState(readTheme)
  const preferences = usePreferences()
  const [, navigate] = useLocation()
  const name = me?.username ?? me?.subject.id ?? ''
  const entries: MenuEntry[] = [
    ...themes.map(({ theme: one, icon }) => ({
      id: `theme-${one}`,
      icon: one === theme ? ('check' as const) : icon,
      label: texts.themes[one],
      onAction: () => {
        chooseTheme(one)
        choose(one)
        void preferences.save({ theme: one })
      },
    })),
    'line',
    { id: 'shortcuts', icon: 'keyboard', label: texts.shortcuts, onAction: onShortcuts },
    {
      id: 'reference',
      icon: 'code',
      label: texts.reference,
      onAction: () => void window.open(`${baseUrl}/docs?${new URLSearchParams({ tenant: session.tenant })}`),
    },
    {
      id: 'status',
      icon: 'activity',
      label: `${texts.status} (${version})`,
      onAction: () => void window.open(`${baseUrl}/status`),
    },
    'line',
    { id: 'account', icon: 'user', label: texts.account, onAction: () => leave(() => navigate('/account')) },
    {
      id: 'switch',
      icon: 'building',
      label: texts.switchTenant,
      onAction: () => location.assign(`${consolePath}?choose`),
    },
    { id: 'sign-out', icon: 'logOut', label: texts.signOut, onAction: () => leave(() => void session.signOut()) },
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
