import type { ReactNode } from 'react'
import { Link, useSearch } from 'wouter'
import { usePathname } from 'wouter/use-browser-location'

export interface TabsProps {
  label: string
  tabs: { id: string; title: string }[]
  current: string
  /** Parameter of the address that has the id of the tab. */
  parameter?: string
  /** Other parameters of the address that the tabs share. */
  keep?: readonly string[]
  children: ReactNode
}

/** Tabs as links. The address contains the selected tab, so a shared link opens the same tab. */
export function Tabs({ label, tabs, current, parameter = 'tab', keep = [], children }: TabsProps) {
  // The tilde makes the address absolute for the router. A relative address is not used, because the router decodes its path, which would
  // change a name with %.
  const path = `~${usePathname()}`
  const search = new URLSearchParams(useSearch())
  const shared = keep.flatMap((name) => (search.has(name) ? [[name, search.get(name)!]] : []))
  return (
    <>
      <nav className="tabs" aria-label={label}>
        <ul>
          {tabs.map(({ id, title }) => (
            <li key={id}>
              <Link
                href={`${path}?${new URLSearchParams([[parameter, id], ...shared])}`}
                className="tab"
                aria-current={id === current ? 'page' : undefined}
                replace
              >
                {title}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      {children}
    </>
  )
}
