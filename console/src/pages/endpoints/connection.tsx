import { Badge } from '../../parts/badge.tsx'
import { texts } from './texts.ts'

export type ConnectionState = 'connected' | 'disconnected' | 'never'

const tones = { connected: 'good', disconnected: 'warn', never: 'quiet' } as const

export const Connection = ({ state }: { state: ConnectionState }) => (
  <Badge tone={tones[state]}>{texts.connections[state]}</Badge>
)
