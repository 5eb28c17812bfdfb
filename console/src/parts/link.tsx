import type { ReactNode } from 'react'
import { Link as RouteLink } from 'wouter'
import { Icon, type IconName } from './icons.tsx'
import { useServices } from './services.tsx'

/**
 * A link within the console: `<Link to="/endpoints">…</Link>`; the tenant is added. For users who may not open the page, it is plain text.
 */
export function Link({ to, children, className }: { to: string; children: ReactNode; className?: string }) {
  const { mayOpen } = useServices()
  if (!mayOpen(to)) return <span className={className}>{children}</span>
  return (
    <RouteLink href={to} className={className ?? 'link'}>
      {children}
    </RouteLink>
  )
}

/** A link that looks like a button. Users who may not open the page do not see it. */
export function LinkButton({
  to,
  look = 'plain',
  icon,
  children,
}: {
  to: string
  look?: 'primary' | 'plain' | 'quiet'
  icon?: IconName
  children: ReactNode
}) {
  const { mayOpen } = useServices()
  if (!mayOpen(to)) return null
  return (
    <RouteLink href={to} className={`button button-${look}`}>
      {icon && <Icon name={icon} size={16} />}
      {children}
    </RouteLink>
  )
}
