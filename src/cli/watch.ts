/** Prints the points of time series as they are stored. */
import { parseArgs } from 'node:util'
import { connect } from './api/connection.ts'
import { usageError } from './api/errors.ts'
import { createInterruptionNotice } from './api/interruptions.ts'
import { write } from './api/print.ts'
import { visible, visibleAtTerminal } from './api/visible.ts'

export const usage = `usage: waypost watch <application> [--endpoint <id>] [--series <name>] [-o text|json]

  --endpoint <id>   only this endpoint; can be repeated; default: all that you may read
  --series <name>   only this series; can be repeated; default: all
  --initial         begin with the newest point of each series
  -o <format>       text, or json: one object in a line
  --context <name>  use another login
`

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      endpoint: { type: 'string', multiple: true },
      series: { type: 'string', multiple: true },
      initial: { type: 'boolean', default: false },
      output: { type: 'string', short: 'o', default: 'text' },
      context: { type: 'string' },
    },
  })
  const [applicationName] = positionals
  if (applicationName === undefined || positionals.length > 1) throw usageError('expected an application', usage)
  if (!['text', 'json'].includes(values.output)) throw usageError('--output: expected text or json')
  const { client } = await connect({ context: values.context })
  const topic = { applicationName, endpointId: values.endpoint, timeSeriesName: values.series, initial: values.initial }
  const noticeInterruption = createInterruptionNotice()
  for await (const event of client.live(topic)) {
    noticeInterruption(event)
    if (event.type === 'gap') process.stderr.write(`waypost: points were left out: ${visible(event.reason)}\n`)
    else if (event.type === 'points')
      for (const line of linesOf(event.points, values.output === 'json')) await write(`${line}\n`)
  }
  return 0
}

type Points = Record<string, Record<string, { timestamp: string; values: Record<string, unknown> }[]>>

function* linesOf(points: Points, isJson: boolean): Generator<string> {
  for (const [endpointId, byName] of Object.entries(points))
    for (const [timeSeriesName, list] of Object.entries(byName))
      for (const { timestamp, values } of list)
        yield isJson
          ? visibleAtTerminal(JSON.stringify({ endpointId, timeSeriesName, timestamp, values }))
          : visible(`${timestamp}  ${endpointId}  ${timeSeriesName}  ${JSON.stringify(values)}`)
}
