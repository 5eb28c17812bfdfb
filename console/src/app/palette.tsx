/** Finds pages, endpoints and actions by typing (Ctrl K). */
import { type KeyboardEvent, useDeferredValue, useState } from 'react'
import { Autocomplete } from 'react-aria-components/Autocomplete'
import { Dialog as AriaDialog } from 'react-aria-components/Dialog'
import { Header } from 'react-aria-components/Header'
import { Input } from 'react-aria-components/Input'
import { Menu, MenuItem, MenuSection } from 'react-aria-components/Menu'
import { Modal, ModalOverlay } from 'react-aria-components/Modal'
import { SearchField } from 'react-aria-components/SearchField'
import { useLocation } from 'wouter'
import { useSession } from '../api/client.ts'
import { useMay, useMe } from '../api/me.ts'
import { useList } from '../api/query.ts'
import { pages } from '../pages/registry.ts'
import { Icon, type IconName } from '../parts/icons.tsx'
import { Text } from '../parts/text.tsx'
import { leave } from '../parts/unsaved.ts'
import { mayOpen } from './routes.ts'
import { texts } from './texts.ts'

interface Entry {
  id: string
  title: string
  icon: IconName
  to: string
  keywords: string
}

const endpointsMax = 8
const isId = /^[\w.~-]+$/
const isAction = ({ path }: { path: string }) => path.endsWith('/new')

export default function Palette({ onClose }: { onClose(): void }) {
  return (
    <ModalOverlay className="overlay overlay-top" isOpen onOpenChange={(open) => !open && onClose()} isDismissable>
      <Modal className="modal modal-palette">
        <AriaDialog className="palette" aria-label={texts.palette}>
          <PaletteBody onClose={onClose} />
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  )
}

function PaletteBody({ onClose }: { onClose(): void }) {
  const [typed, setTyped] = useState('')
  const id = typed.trim()
  const searchText = id.toLowerCase()
  const [, navigate] = useLocation()
  const sections = useEntries(searchText, id)
  const open = (to: string) => {
    onClose()
    leave(() => navigate(to))
  }
  /**
   * Opens the first entry on Enter. The list component marks this entry only half a second after the last letter. Without this function,
   * Enter would do nothing until then.
   */
  const openFirst = (event: KeyboardEvent<HTMLInputElement>) => {
    const isMarked = Boolean(event.currentTarget.getAttribute('aria-activedescendant'))
    const first = sections[0]?.entries[0]
    if (event.key === 'Enter' && !isMarked && searchText !== '' && first) open(first.to)
  }
  return (
    <Autocomplete inputValue={typed} onInputChange={setTyped}>
      <SearchField aria-label={texts.palette} autoFocus className="palette-search">
        <Icon name="search" />
        <Input placeholder={texts.paletteHint} className="palette-input" onKeyDownCapture={openFirst} />
      </SearchField>
      <Menu
        className="palette-list menu"
        aria-label={texts.palette}
        renderEmptyState={() => <p className="palette-none">{texts.paletteNothing}</p>}
      >
        {sections.map(({ title, entries }) => (
          <MenuSection key={title} id={title}>
            <Header className="palette-head">{title}</Header>
            {entries.map(({ id, title, icon, to }) => (
              <MenuItem key={id} id={id} textValue={title} className="menu-item" onAction={() => open(to)}>
                <Icon name={icon} size={16} />
                <Text value={title} max={80} />
              </MenuItem>
            ))}
          </MenuSection>
        ))}
      </Menu>
    </Autocomplete>
  )
}

/**
 * Returns the rank of a title: titles that begin with the text come first, then titles that contain the text elsewhere, then pages that
 * have the text only as a keyword.
 */
function distance(title: string, searchText: string): number {
  const at = title.toLowerCase().indexOf(searchText)
  return at === 0 ? 0 : at > 0 ? 1 : 2
}

function useEntries(searchText: string, id: string): { title: string; entries: Entry[] }[] {
  const { session } = useSession()
  const { data: me } = useMe()
  const may = useMay()
  // Pages are searched after every letter, so that Enter opens a page that matches all letters. Only requests use the deferred text.
  const search = useDeferredValue(searchText)
  const exactId = useDeferredValue(id)
  const found = useList(
    'endpoints.directory.list',
    { search, limit: endpointsMax },
    { enabled: search.length >= 2 && may('endpoint:read') },
  )
  // The endpoint with exactly this id comes first. The search alone may return other endpoints whose ids contain this id.
  const exact = useList(
    'endpoints.directory.list',
    { endpointId: exactId, limit: 1 },
    { enabled: isId.test(exactId) && may('endpoint:read') },
  )
  const entries = pages
    .filter((page) => !page.path.includes(':') && mayOpen(me, session.tenant, page))
    .map(({ path, title, icon = 'list', keywords = '' }) => ({ id: path, title, icon, to: path, keywords }))
    .filter(({ title, keywords }) => `${title} ${keywords}`.toLowerCase().includes(searchText))
    .toSorted((a, b) => distance(a.title, searchText) - distance(b.title, searchText))
  const first = exact.items.filter(({ endpointId }) => endpointId === id)
  const others =
    searchText.length < 2 ? [] : found.items.filter(({ endpointId }) => endpointId !== first[0]?.endpointId)
  const endpoints = [...first, ...others].slice(0, endpointsMax)
  return [
    { title: texts.palettePages, entries: entries.filter(({ to }) => !isAction({ path: to })) },
    { title: texts.paletteActions, entries: entries.filter(({ to }) => isAction({ path: to })) },
    {
      title: texts.paletteEndpoints,
      entries: endpoints.map(({ endpointId }) => ({
        id: `endpoint-${endpointId}`,
        title: endpointId,
        icon: 'cpu' as const,
        to: `/endpoints/${encodeURIComponent(endpointId)}`,
        keywords: '',
      })),
    },
  ].filter(({ entries }) => entries.length > 0)
}
