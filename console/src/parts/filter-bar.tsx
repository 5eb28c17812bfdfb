import type { ReactNode } from 'react'
import { useEffect, useRef, useState } from 'react'
import { Input } from 'react-aria-components/Input'
import { SearchField } from 'react-aria-components/SearchField'
import { Button, IconButton } from './button.tsx'
import { Icon } from './icons.tsx'
import { Note } from './notes.tsx'
import { cut } from './text.tsx'
import { texts } from './texts.ts'

const delayMs = 250

/** A search field that waits until the user stops typing. The key `/` moves the focus to it. */
export function SearchBox({ label, value, onChange }: { label: string; value: string; onChange(text: string): void }) {
  const [typed, setTyped] = useState(value)
  const input = useRef<HTMLInputElement>(null)
  const last = useRef(value)
  useEffect(() => {
    // The value was changed outside of this field, for example by a reset of the conditions, so the field shows the new value.
    if (value !== last.current) setTyped(value)
    last.current = value
  }, [value])
  useEffect(() => {
    if (typed === last.current) return
    const timer = setTimeout(() => {
      last.current = typed
      onChange(typed)
    }, delayMs)
    return () => clearTimeout(timer)
  }, [typed, onChange])
  return (
    <SearchField className="search" aria-label={label} value={typed} onChange={setTyped}>
      <Icon name="search" size={16} />
      <Input ref={input} className="input" placeholder={label} data-search="" spellCheck={false} dir="auto" />
      {typed !== '' && <IconButton icon="x" label={texts.clearSearch} />}
    </SearchField>
  )
}

/** Search and conditions above a table. `address` is the result of `useAddressState`. */
export function FilterBar({
  children,
  address,
}: {
  children: ReactNode
  address: { invalid: string[]; isChanged: boolean; reset(): void }
}) {
  return (
    <>
      <div className="filter-bar" role="search">
        {children}
        {address.isChanged && (
          <Button look="quiet" icon="x" onPress={address.reset}>
            {texts.reset}
          </Button>
        )}
      </div>
      {address.invalid.length > 0 && (
        <Note
          tone="warn"
          action={
            <Button size="small" onPress={address.reset}>
              {texts.reset}
            </Button>
          }
        >
          {texts.badAddress(cut(address.invalid.join(', '), 120).shown)}
        </Note>
      )}
    </>
  )
}
