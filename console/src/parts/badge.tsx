import type { ReactNode } from 'react'

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'quiet'

/** Shows a state as a text with a colour. The text alone is sufficient to understand the state. */
export const Badge = ({ tone = 'quiet', children }: { tone?: Tone; children: ReactNode }) => (
  <span className={`badge badge-${tone}`}>
    <span className="badge-dot" aria-hidden="true" />
    {children}
  </span>
)
