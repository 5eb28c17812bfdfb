import { Badge } from '../../parts/badge.tsx'
import { texts } from './texts.ts'

const tones = { connected: 'good', disconnected: 'warn', never: 'quiet' } as const

export const ConnectionBadge = ({ state }: { state: keyof typeof tones }) => (
  <Badge tone={tones[state]}>{texts.connections[state]}</Badge>
)
