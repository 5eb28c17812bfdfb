import { Badge, type Tone } from '../../parts/badge.tsx'
import { texts } from './texts.ts'

export type JobState = keyof typeof texts.states

const tones: Record<JobState, Tone> = {
  prepared: 'quiet',
  waiting: 'info',
  running: 'info',
  finished: 'good',
  canceled: 'warn',
}

/** A finished job with failures is shown as a problem. */
export const StateBadge = ({ state, failed }: { state: JobState; failed: number }) => (
  <Badge tone={state === 'finished' && failed > 0 ? 'warn' : tones[state]}>{texts.states[state]}</Badge>
)

export const isOpen = (state: JobState) => state === 'waiting' || state === 'running'
