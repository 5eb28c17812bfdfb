import { Badge, type Tone } from '../../parts/badge.tsx'
import { texts } from './texts.ts'

export type Status = keyof typeof texts.statuses

const tones: Record<Status, Tone> = {
  AVAILABLE: 'good',
  CREATING: 'info',
  UPDATING: 'info',
  FAILED: 'bad',
  SUSPENDED: 'warn',
  DELETED: 'quiet',
}

export const TenantStatus = ({ status }: { status: Status }) => (
  <Badge tone={tones[status]}>{texts.statuses[status]}</Badge>
)
