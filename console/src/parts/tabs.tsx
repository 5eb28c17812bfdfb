import type { ReactNode } from 'react'
import { Link } from 'wouter'

export interface Tab {
  id: string
  title: string
  to: string
}

/** Tabs whose selection is the address, so each is a link: a shared link opens the same tab. */
export function Tabs({
  label,
  tabs,
  current,
  children,
}: {
  label: string
  tabs: Tab[]
  current: string
  children: ReactNode
}) {
  return (
    <>
      <nav className="tabs" aria-label={label}>
        <ul>
          {tabs.map(({ id, title, to }) => (
            <li key={id}>
              <Link href={to} className="tab" aria-current={id === current ? 'page' : undefined} replace>
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
