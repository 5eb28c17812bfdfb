import { Badge, type Tone } from '../../parts/badge.tsx'
import { texts } from './texts.ts'

export type SeverityLevel = keyof typeof texts.severities
export const severityLevels = Object.keys(texts.severities) as SeverityLevel[]

const tones: Record<SeverityLevel, Tone> = { CRITICAL: 'bad', HIGH: 'bad', MEDIUM: 'warn', LOW: 'info', INFO: 'quiet' }

export const Severity = ({ level }: { level: SeverityLevel }) => (
  <Badge tone={tones[level]}>{texts.severities[level]}</Badge>
)

/** Open or resolved; an open alert also says whether somebody has acknowledged it. */
export const AlertState = ({ state, acknowledgement }: { state: string; acknowledgement: string }) => {
  if (state !== 'OPEN') return <Badge tone="good">{texts.states.RESOLVED}</Badge>
  return acknowledgement === 'ACKNOWLEDGED' ? (
    <Badge tone="info">{texts.acknowledgements.ACKNOWLEDGED}</Badge>
  ) : (
    <Badge tone="bad">{texts.states.OPEN}</Badge>
  )
}
