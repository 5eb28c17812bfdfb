/** Severity and state of an alert, in one word each. */
import { Badge, type Tone } from './badge.tsx'
import { texts } from './texts.ts'

export type SeverityLevel = keyof typeof texts.severities
export const severityLevels = Object.keys(texts.severities) as SeverityLevel[]
export const severityTexts = texts.severities

const tones: Record<SeverityLevel, Tone> = { CRITICAL: 'bad', HIGH: 'bad', MEDIUM: 'warn', LOW: 'info', INFO: 'quiet' }

export const Severity = ({ level }: { level: SeverityLevel }) => (
  <Badge tone={tones[level]}>{texts.severities[level]}</Badge>
)

/** Shows whether an alert is open, acknowledged or resolved. */
export const AlertState = ({ state, acknowledgement }: { state: string; acknowledgement: string }) => {
  if (state !== 'OPEN') return <Badge tone="good">{texts.alertResolved}</Badge>
  return acknowledgement === 'ACKNOWLEDGED' ? (
    <Badge tone="info">{texts.alertAcknowledged}</Badge>
  ) : (
    <Badge tone="bad">{texts.alertOpen}</Badge>
  )
}
