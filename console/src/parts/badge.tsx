import type { ReactNode } from 'react'

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'quiet'

/** A state in one word. The word says it; the colour only helps. */
export const Badge = ({ tone = 'quiet', children }: { tone?: Tone; children: ReactNode }) => (
  <span className={`badge badge-${tone}`}>
    <span className="badge-dot" aria-hidden="true" />
    {children}
  </span>
)
