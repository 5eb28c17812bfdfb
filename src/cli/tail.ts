/** Follows an endpoint: its messages in both directions, and the refusals of its messages and connections with their reasons. */
import { parseArgs } from 'node:util'
import type { Client } from '../../sdk/src/index.ts'
import { sleep } from '../kernel/clock.ts'
import { connect } from './api/connection.ts'
import { usageError } from './api/errors.ts'
import { write } from './api/print.ts'
import { visible } from './api/visible.ts'

export const usage = `usage: waypost tail <endpoint> [--since 1m] [-o text|json] [--once]

  --since <time>  begin this long ago, such as 30s, 5m or 2h; default: 1m
  -o <format>     text, or json: one object in a line
  --once          print what there is, and end
`

const everyMs = 1000

interface Entry {
  at: string
  kind: 'sent' | 'received' | 'refused'
  key: string
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
  if (endpointId === undefined || positionals.length > 1) throw usageError(`expected an endpoint\n\n${usage}`)
  if (!/^\d{1,6}[smhd]$/.test(values.since)) throw usageError('--since: expected a time such as 30s, 5m or 2h')
  if (!['text', 'json'].includes(values.output)) throw usageError('--output: expected text or json')
  const { client } = connect({ context: values.context })
  await client.endpoints.get({ endpointId })
  let from = `now-${values.since}`
  let printed = new Set<string>()
  for (;;) {
    const entries = await entriesSince(client, endpointId, from)
    for (const { key, at, kind, text, value } of entries) {
      if (printed.has(key)) continue
      await write(
        values.output === 'json'
          ? `${JSON.stringify({ kind, ...(value as object) })}\n`
          : `${at}  ${kind.padEnd(8)}  ${text}\n`,
      )
    }
    if (values.once) return 0
    // Entries of the last moment are read again, because another may have the same time.
    const last = entries.at(-1)
    if (last) {
      from = last.at
      printed = new Set(entries.filter(({ at }) => at === last.at).map(({ key }) => key))
    }
    await sleep(everyMs)
  }
}

async function entriesSince(client: Client, endpointId: string, fromCreatedAt: string): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const message of client.list<Message>('traffic.list', {
    endpointIds: [endpointId],
    fromCreatedAt,
    sortOrder: 'asc',
  }))
    entries.push({
      at: message.createdAt,
      kind: message.direction === 'INBOUND' ? 'received' : 'sent',
      key: `${message.createdAt} ${message.direction} ${message.resourcePath} ${message.correlationId}`,
      text: visible(`${message.extension}${message.resourcePath ?? ''} ${message.payload ?? ''}`),
      value: message,
    })
  for await (const refusal of client.list<Refusal>('refusals.list', { fromCreatedAt }))
    if (refusal.endpointId === endpointId)
      entries.push({
        at: refusal.createdAt,
        kind: 'refused',
        key: `${refusal.createdAt} refused ${refusal.reason} ${refusal.count}`,
        text: visible(
          `${refusal.reason}: ${refusal.detail ?? ''}${refusal.count > 1 ? ` (${refusal.count} times)` : ''}`,
        ),
        value: refusal,
      })
  return entries.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
}

interface Message {
  createdAt: string
  direction: string
  extension: string
  resourcePath?: string
  payload?: string
  correlationId?: string
}

interface Refusal {
  createdAt: string
  endpointId?: string
  reason: string
  detail?: string
  count: number
}
