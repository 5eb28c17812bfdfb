/** Follows an endpoint. Prints its messages in both directions, and the refusals of its messages and connections with their reasons. */
import { parseArgs } from 'node:util'
import type { Client, StreamEvent } from '../../sdk/src/index.ts'
import { connect, withFields } from './api/connection.ts'
import { CommandError, usageError } from './api/errors.ts'
import { createInterruptionNotice } from './api/interruptions.ts'
import { write } from './api/print.ts'
import { visible, visibleAtTerminal } from './api/visible.ts'

export const usage = `usage: waypost tail <endpoint> [--since 1m] [-o text|json] [--once]

  --since <time>    begin this long ago, such as 30s, 5m or 2h; default: 1m
  -o <format>       text, or json: one object in a line
  --once            print what there is, and end
  --context <name>  use another login
`

interface Entry {
  at: string
  kind: 'sent' | 'received' | 'refused'
  text: string
  value: unknown
}

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      since: { type: 'string', default: '1m' },
      output: { type: 'string', short: 'o', default: 'text' },
      once: { type: 'boolean', default: false },
      context: { type: 'string' },
    },
  })
  const [endpointId] = positionals
  if (endpointId === undefined || positionals.length > 1) throw usageError('expected an endpoint', usage)
  if (!/^\d{1,6}[smhd]$/.test(values.since)) throw usageError('--since: expected a time such as 30s, 5m or 2h')
  if (!['text', 'json'].includes(values.output)) throw usageError('--output: expected text or json')
  const { client } = await connect({ context: values.context })
  await client.endpoints.get({ endpointId })
  const since = `now-${values.since}`
  const isJson = values.output === 'json'
  if (values.once) {
    for (const entry of await entriesSince(client, endpointId, since)) await print(entry, isJson)
    return 0
  }
  const noticeInterruption = createInterruptionNotice()
  for await (const event of client.live.stream(topicsOf(endpointId, since))) {
    noticeInterruption(event)
    await show(event, isJson)
  }
  return 0
}

const topicsOf = (endpointId: string, since: string) =>
  ['traffic', 'refusals'].map((topic) => ({ id: topic, topic, endpointIds: [endpointId], since }))

async function show(event: StreamEvent, isJson: boolean) {
  const printNotice = (text: string) => process.stderr.write(`waypost: ${visible(text)}\n`)
  if (event.type === 'gap') printNotice(`some ${event.topic} was left out: ${event.reason}`)
  else if (event.type === 'ended' && event.topic === 'traffic') throw new CommandError(event.message)
  else if (event.type === 'ended') printNotice(`refusals are not shown: ${event.message}`)
  else if (event.type === 'items')
    for (const item of event.items)
      await print(event.topic === 'traffic' ? messageEntry(item as never) : refusalEntry(item as never), isJson)
}

const print = ({ at, kind, text, value }: Entry, isJson: boolean) =>
  write(
    isJson
      ? visibleAtTerminal(`${JSON.stringify({ kind, ...(value as object) })}\n`)
      : `${at}  ${kind.padEnd(8)}  ${text}\n`,
  )

const messageEntry = (message: Message): Entry => ({
  at: message.createdAt,
  kind: message.direction === 'INBOUND' ? 'received' : 'sent',
  text: visible(`${message.extension}${message.resourcePath ?? ''} ${message.payload ?? ''}`),
  value: message,
})

const refusalEntry = (refusal: Refusal): Entry => ({
  at: refusal.createdAt,
  kind: 'refused',
  text: visible(`${refusal.reason}: ${refusal.detail ?? ''}${refusal.count > 1 ? ` (${refusal.count} times)` : ''}`),
  value: refusal,
})

async function entriesSince(client: Client, endpointId: string, fromCreatedAt: string): Promise<Entry[]> {
  const entries: Entry[] = []
  const order = { endpointIds: [endpointId], fromCreatedAt, sortOrder: 'asc' }
  for await (const message of client.list<Message>('traffic.list', order))
    entries.push(messageEntry(withFields('traffic.list', message, 'createdAt', 'direction', 'extension')))
  for await (const refusal of client.list<Refusal>('refusals.list', { fromCreatedAt }))
    if (withFields('refusals.list', refusal, 'createdAt', 'reason', 'count').endpointId === endpointId)
      entries.push(refusalEntry(refusal))
  return entries.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
}

interface Message {
  createdAt: string
  direction: string
  extension: string
  resourcePath?: string
  payload?: string
}

interface Refusal {
  createdAt: string
  endpointId?: string
  reason: string
  detail?: string
  count: number
}
