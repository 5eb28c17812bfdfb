import { Badge } from '../../parts/badge.tsx'
import { texts } from './texts.ts'

export const StatusBadge = ({ status }: { status: 'ACTIVE' | 'SUSPENDED' }) => (
  <Badge tone={status === 'ACTIVE' ? 'good' : 'warn'}>{texts.statuses[status]}</Badge>
)

interface Session {
  netConnectionState: 'CONNECTED' | 'DISCONNECTED'
  netConnectionError?: string | undefined
}

export const SessionBadge = ({ integration: { netConnectionState, netConnectionError } }: { integration: Session }) => (
  <Badge tone={netConnectionState === 'CONNECTED' ? 'good' : netConnectionError ? 'bad' : 'quiet'}>
    {texts.sessions[netConnectionState]}
  </Badge>
)
