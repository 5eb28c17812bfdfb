/**
 * Reports on standard error when a stream is interrupted and when it continues. Each interruption is reported once, however many attempts
 * it takes to reconnect.
 */
import { visible } from './visible.ts'

type StreamEvent = { type: 'open' } | { type: 'interrupted'; reason: string } | { type: string }

export function createInterruptionNotice(write: (text: string) => unknown = (text) => process.stderr.write(text)) {
  let isInterrupted = false
  return (event: StreamEvent) => {
    if (event.type === 'interrupted' && !isInterrupted) {
      isInterrupted = true
      write(`waypost: interrupted: ${visible((event as { reason: string }).reason)}; reconnecting\n`)
    } else if (event.type === 'open' && isInterrupted) {
      isInterrupted = false
      write('waypost: connected again\n')
    }
  }
}
