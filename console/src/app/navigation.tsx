/** The navigation: the pages that the caller may open, by group. */
import { Link, useLocation } from 'wouter'
import { useSession } from '../api/client.ts'
import { useMe } from '../api/me.ts'
import { groups, pages } from '../pages/registry.ts'
import { Icon } from '../parts/icons.tsx'
import { mayOpen } from './routes.ts'
import { texts } from './texts.ts'

const isCurrent = (path: string, own: string) =>
  own === '/' ? path === '/' : path === own || path.startsWith(`${own}/`)

export function Navigation({ onNavigate }: { onNavigate?(): void }) {
  const [path] = useLocation()
  const { session } = useSession()
  const { data: me } = useMe()
  const shown = pages.filter((page) => page.group !== undefined && mayOpen(me, session.tenant, page))
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
                  <Link
                    href={own}
                    className="nav-link"
                    aria-current={isCurrent(path, own) ? 'page' : undefined}
                    onClick={() => onNavigate?.()}
                  >
                    <Icon name={icon} />
                    {title}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        )
      })}
    </nav>
  )
}
