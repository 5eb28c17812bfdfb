/** The navigation: the pages that the caller may open, by group. */
import { memo } from 'react'
import { Link, useLocation } from 'wouter'
import { useSession } from '../api/client.ts'
import { useMe } from '../api/me.ts'
import { groups, pages } from '../pages/registry.ts'
import { Icon, type IconName } from '../parts/icons.tsx'
import { mayOpen } from './routes.ts'
import { texts } from './texts.ts'

const isCurrent = (path: string, own: string) =>
  own === '/' ? path === '/' : path === own || path.startsWith(`${own}/`)

interface Props {
  onNavigate?(): void
  /** If true, pages that the caller may not open are included. Used while the navigation is hidden and the permissions are not known. */
  showsAll?: boolean
}

interface ItemProps {
  path: string
  title: string
  icon: IconName
  isCurrent: boolean
  onNavigate: (() => void) | undefined
}

/**
 * A link of the navigation. It is rendered again only if its properties change: most links stay the same when the permissions are known.
 */
const Item = memo(({ path, title, icon, isCurrent, onNavigate }: ItemProps) => (
  <Link href={path} className="nav-link" aria-current={isCurrent ? 'page' : undefined} onClick={() => onNavigate?.()}>
    <Icon name={icon} />
    {title}
  </Link>
))

export function Navigation({ onNavigate, showsAll = false }: Props) {
  const [path] = useLocation()
  const { session } = useSession()
  const { data: me } = useMe()
  const { tenant } = session
  const shown = pages.filter(
    (page) =>
      page.group !== undefined &&
      (showsAll ? page.realm === undefined || page.realm === tenant : mayOpen(me, tenant, page)),
  )
  return (
    <nav className="navigation" aria-label={texts.navigation}>
      {groups.map((group) => {
        const ofGroup = shown.filter((page) => page.group === group)
        if (ofGroup.length === 0) return null
        return (
          <div key={group} className="nav-group">
            {group !== '' && <h2>{group}</h2>}
            <ul>
              {ofGroup.map(({ path: own, title, icon = 'list' }) => (
                <li key={own}>
                  <Item path={own} title={title} icon={icon} isCurrent={isCurrent(path, own)} onNavigate={onNavigate} />
                </li>
              ))}
            </ul>
          </div>
        )
      })}
    </nav>
  )
}
