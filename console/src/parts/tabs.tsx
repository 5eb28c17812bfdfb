import { type ReactNode, useEffect, useRef } from 'react'
import { Link, useSearch } from 'wouter'
import { usePathname } from 'wouter/use-browser-location'

export interface TabsProps {
  label: string
  tabs: { id: string; title: string }[]
  current: string
  /** Parameter of the address that contains the id of the selected tab. Default: `tab`. */
  parameter?: string
  /** Other parameters of the address, which stay the same when the user selects another tab. */
  keep?: readonly string[]
  children: ReactNode
}

/** Tabs as links. The address contains the selected tab, so a shared link opens the same tab. */
export function Tabs({ label, tabs, current, parameter = 'tab', keep = [], children }: TabsProps) {
  // The tilde makes the address absolute for the router. A relative address is not used, because the router decodes its path, which would
  // change a name with %.
  const path = `~${usePathname()}`
  const search = new URLSearchParams(useSearch())
  const bar = useRef<HTMLElement>(null)
  // On a narrow screen, the selected tab may be outside the visible part of the bar. `scrollIntoView` would also scroll the page.
  // biome-ignore lint/correctness/useExhaustiveDependencies: when another tab is selected
  useEffect(() => {
    const list = bar.current?.querySelector('ul')
    if (!list) return
    // The observer reports once at the start, and after each change of the width or the zoom.
    const observer = new ResizeObserver(() => {
      const tab = list.querySelector('[aria-current]')
      if (!tab) return
      const [inner, outer] = [tab.getBoundingClientRect(), list.getBoundingClientRect()]
      if (inner.left < outer.left || inner.right > outer.right)
        list.scrollLeft += (inner.left + inner.right - outer.left - outer.right) / 2
    })
    observer.observe(list)
    return () => observer.disconnect()
  }, [current])
  const shared = keep.flatMap((name) => (search.has(name) ? [[name, search.get(name)!]] : []))
  return (
    <>
      <nav ref={bar} className="tabs" aria-label={label}>
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
