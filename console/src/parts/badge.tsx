import type { ReactNode } from 'react'

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'quiet'

/** Shows a state as a word. The colour repeats it, and is not needed to understand it. */
export const Badge = ({ tone = 'quiet', children }: { tone?: Tone; children: ReactNode }) => (
  <span className={`badge badge-${tone}`}>
    <span className="badge-dot" aria-hidden="true" />
    {children}
  </span>
)
