import type { ReactNode } from 'react'
import { Icon, type IconName } from './icons.tsx'
import { Link } from './link.tsx'

/** A section of a page with a heading. */
export function Card({
  title,
  actions,
  children,
  flush = false,
}: {
  title?: string
  actions?: ReactNode
  children: ReactNode
  flush?: boolean
}) {
  return (
    <section className="card">
      {title && (
        <div className="card-head">
          <h2>{title}</h2>
          {actions && <div className="card-actions">{actions}</div>}
        </div>
      )}
      <div className={flush ? 'card-body card-flush' : 'card-body'}>{children}</div>
    </section>
  )
}

/** A number with its name, as a link to the page that lists the counted objects. */
export function Stat({
  label,
  value,
  note,
  icon,
  to,
}: {
  label: string
  value: ReactNode
  note?: ReactNode
  icon: IconName
  to?: string
}) {
  const body = (
    <>
      <span className="stat-label">
        <Icon name={icon} size={16} />
        {label}
      </span>
      <span className="stat-value">{value}</span>
      {note && <span className="stat-note">{note}</span>}
    </>
  )
  return to === undefined ? (
    <div className="stat">{body}</div>
  ) : (
    <Link to={to} className="stat stat-link">
      {body}
    </Link>
  )
}

/** Facts of an object: `<Facts items={[['Name', <Text … />]]} />`. */
export const Facts = ({ items }: { items: [string, ReactNode][] }) => (
  <dl className="facts">
    {items.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)

/** Shows grey lines while data is loaded. */
export const Loading = ({ label, lines = 4 }: { label: string; lines?: number }) => (
  <div className="skeleton" role="status" aria-label={label}>
    {Array.from({ length: lines }, (_, line) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
      <span key={line} />
    ))}
  </div>
)
