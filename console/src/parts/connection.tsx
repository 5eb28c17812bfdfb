/** Shows whether an endpoint is connected, in one word. */
import { Badge } from './badge.tsx'
import { texts } from './texts.ts'

const tones = { connected: 'good', disconnected: 'warn', never: 'quiet' } as const
export type ConnectionState = keyof typeof tones

export const isConnectionState = (state: unknown): state is ConnectionState =>
  typeof state === 'string' && Object.hasOwn(tones, state)
export const connectionTexts = texts.connections

export const ConnectionBadge = ({ state }: { state: ConnectionState }) => (
  <Badge tone={tones[state]}>{texts.connections[state]}</Badge>
)
