import { Badge, type Tone } from '../../parts/badge.tsx'
import { texts } from './texts.ts'

const tones: Record<keyof typeof texts.rolloutStates, Tone> = { active: 'good', paused: 'warn', halted: 'bad' }

/** Shows the state of a rollout. A suspended version is offered to no endpoint, whatever the state of its rollout is. */
export const RolloutState = ({
  state,
  strategy,
}: {
  state: keyof typeof texts.rolloutStates
  strategy: keyof typeof texts.strategies
}) =>
  strategy === 'suspended' ? (
    <Badge tone="warn">{texts.suspended}</Badge>
  ) : (
    <Badge tone={tones[state]}>{texts.rolloutStates[state]}</Badge>
  )
