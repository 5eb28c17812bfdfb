/** Client for server-sent events over a real socket. It can stop reading, for tests of back-pressure. */
import assert from 'node:assert/strict'
import { type IncomingMessage, request } from 'node:http'
import { afterAllTests } from './database.ts'
import { eventually } from './eventually.ts'

export interface SentEvent {
  event: string
  id: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: tests read events of every shape
  data: any
}

export interface EventSource {
  status: number
  headers: IncomingMessage['headers']
  /** Events that `next` has not returned yet. */
  events: SentEvent[]
  comments: number
  /** Returns the body of a response that is not a stream. */
  text(): Promise<string>
  /** Waits for the next event, asserts its name and removes it from `events`. */
  next(event: string, withinMs?: number): Promise<SentEvent>
  /** Waits for the end of the stream and returns the reason in its last event, `end`. */
  endReason(withinMs?: number): Promise<string>
  /** Stops reading until `resume`. */
  pause(): void
  resume(): void
  close(): void
}

/** Opens a stream with GET, or with POST and a JSON body. */
export async function openEventSource(
  url: string,
  headers: Record<string, string> = {},
  body?: unknown,
): Promise<EventSource> {
  const outgoing =
    body === undefined
      ? request(url, { headers, agent: false })
      : request(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, agent: false })
  outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on('response', resolve)
    outgoing.on('error', reject)
  })
  outgoing.on('error', () => {})
  let [rest, text, isEnded] = ['', '', false]
  let last: SentEvent | undefined
  const source: EventSource = {
    status: answer.statusCode!,
    headers: answer.headers,
    events: [],
    comments: 0,
    text: async () => {
      await eventually(() => assert.ok(isEnded))
      return text
    },
    next: (event, withinMs = 5000) =>
      eventually(
        () => {
          const [first] = source.events
          assert.equal(first?.event, event, JSON.stringify(source.events.slice(0, 3)))
          return source.events.shift()!
        },
        { withinMs, everyMs: 5 },
      ),
    endReason: (withinMs = 5000) =>
      eventually(
        () => {
          assert.ok(isEnded, 'the stream must end')
          assert.equal(last?.event, 'end')
          return last!.data.reason
        },
        { withinMs, everyMs: 5 },
      ),
    pause: () => void answer.socket.pause(),
    resume: () => void answer.socket.resume(),
    close: () => void outgoing.destroy(),
  }
  const isStream = answer.headers['content-type']?.startsWith('text/event-stream')
  answer.setEncoding('utf8')
  answer.on('data', (chunk: string) => {
    if (!isStream) {
      text += chunk
      return
    }
    const parts = (rest + chunk).split('\n\n')
    rest = parts.pop()!
    for (const part of parts) {
      const sent = eventIn(part)
      if (part.startsWith(':')) source.comments++
      if (!sent) continue
      last = sent
      source.events.push(sent)
    }
  })
  answer.on('close', () => {
    isEnded = true
  })
  afterAllTests(source.close)
  return source
}

function eventIn(text: string): SentEvent | undefined {
  const fields = new Map(text.split('\n').map((line) => line.match(/^(\w*): ?(.*)$/)?.slice(1) as [string, string]))
  const data = fields.get('data')
  if (data === undefined) return undefined
  return { event: fields.get('event') ?? 'message', id: fields.get('id'), data: JSON.parse(data) }
}
