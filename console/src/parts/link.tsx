import type { ReactNode } from 'react'
import { Link as RouteLink } from 'wouter'
import { Icon, type IconName } from './icons.tsx'

/** A link within the console: `<Link to="/endpoints">…</Link>`; the tenant is added. */
export function Link({ to, children, className }: { to: string; children: ReactNode; className?: string }) {
  return (
    <RouteLink href={to} className={className ?? 'link'}>
      {children}
    </RouteLink>
  )
}

/** A link that looks like a button. */
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
  return (
    <RouteLink href={to} className={`button button-${look}`}>
      {icon && <Icon name={icon} size={16} />}
      {children}
    </RouteLink>
  )
}
