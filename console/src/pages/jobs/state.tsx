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

/** Shows the state of a job. A finished job with failed items has the colour of a warning. */
export const StateBadge = ({ state, failed }: { state: JobState; failed: number }) => (
  <Badge tone={state === 'finished' && failed > 0 ? 'warn' : tones[state]}>{texts.states[state]}</Badge>
)

export const isOpen = (state: JobState) => state === 'waiting' || state === 'running'
