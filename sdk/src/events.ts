/** Parses server-sent events (HTML standard, 9.2) as they arrive. */
import { endLimit, type Limit, restartClock, stopClock } from './running.ts'
import type { ServerEvent } from './types.ts'

/** Maximum length of an event. A longer event is a fault of the server, and its text would fill the memory. */
const eventLengthMax = 16 * 1024 * 1024

/**
 * Returns the events of a response. The platform sends a comment every 15 s. If nothing arrives within the time limit of an attempt, the
 * connection counts as broken.
 */
export async function* readEvents(response: Response, limit: Limit): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  let [rest, event, data, id]: [string, string, string[], string | undefined] = ['', '', [], undefined]
  try {
    while (true) {
      restartClock(limit)
      const { done, value } = await reader.read()
      // The time limit is only for waiting for data, so the clock stops while the caller handles an event.
      stopClock(limit)
      if (done) return
      rest += decoder.decode(value, { stream: true })
      if (rest.length > eventLengthMax) throw new Error('an event is too long')
      const lines = rest.split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop()!
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { event: event || 'message', data: data.join('\n'), id }
          event = ''
          data = []
        } else {
          const [field, text] = fieldOf(line)
          if (field === 'event') event = text
          else if (field === 'data') data.push(text)
          else if (field === 'id') id = text
        }
      }
    }
  } finally {
    endLimit(limit)
    await reader.cancel().catch(() => {})
  }
}

function fieldOf(line: string): [field: string, text: string] {
  const colon = line.indexOf(':')
  if (colon === -1) return [line, '']
  return [line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)]
}
