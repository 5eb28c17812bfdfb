import { type ReactNode, useEffect } from 'react'
import { Icon } from '../parts/icons.tsx'
import { texts } from './texts.ts'

/** A page without navigation, before or after a session. */
export function StandAlone({ title, text, children }: { title: string; text?: string; children?: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · ${texts.product}`
  }, [title])
  return (
    <main className="stand-alone">
      <div className="stand-alone-card">
        <p className="brand">
          <Icon name="waypost" size={22} />
          {texts.product}
        </p>
        <h1>{title}</h1>
        {text && <p className="lead">{text}</p>}
        {children}
      </div>
    </main>
  )
}
