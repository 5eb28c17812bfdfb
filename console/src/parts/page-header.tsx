import type { ReactNode } from 'react'
import { useEffect } from 'react'
import { Link } from './link.tsx'
import { Text } from './text.tsx'

export interface PageHeaderProps {
  title: string
  /** Pages above this page, shown as breadcrumbs. */
  above?: { title: string; to: string }[]
  /** One sentence about the page. */
  lead?: ReactNode
  /** Buttons, at the right. */
  actions?: ReactNode
}

/** Shows title, breadcrumbs and actions of a page, and sets the title of the document. The heading gets the focus after a navigation. */
export function PageHeader({ title, above = [], lead, actions }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${title} · Waypost`
  }, [title])
  return (
    <header className="page-header">
      <div className="page-header-texts">
        {above.length > 0 && (
          <nav aria-label="Breadcrumbs" className="breadcrumbs">
            <ol>
              {above.map(({ title, to }) => (
                <li key={to}>
                  <Link to={to}>
                    <Text value={title} max={60} />
                  </Link>
                </li>
              ))}
            </ol>
          </nav>
        )}
        <h1 id="page-title" tabIndex={-1}>
          <Text value={title} max={120} />
        </h1>
        {lead && <p className="lead">{lead}</p>}
      </div>
      {actions && <div className="page-actions">{actions}</div>}
    </header>
  )
}
