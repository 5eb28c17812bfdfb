import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { loadConfig } from '../config.ts'
import { readBootstrap } from './bootstrap-file.ts'
import { print } from './output.ts'
import { createCallApi, SimulationError } from './simulate/platform.ts'

export const usage = `usage: waypost rules try <file> --event <file> [options]

  <file>             a script: the body of a JavaScript function with the parameter ctx
  --event <file>     JSON: {"trigger": {"endpointDataSamplesReceived": …}, "endpointId": "…"}; without "trigger", all of it is the trigger
  --endpoint <id>    endpoint of the run; default: the endpoint of the event, or none
  --rule <id>        also shows what the actions of this rule would do; default: a run without actions

The script runs on the platform, with the data of the endpoint. Nothing is sent or changed. The credentials are those of
bootstrap.json in the data directory (WAYPOST_DATA). The status is 0 if the run succeeded, and 1 if it failed.
`

/** The error for a mistake in the arguments or files. */
class ArgumentError extends Error {
  override readonly name = 'ArgumentError'
}

interface Event {
  trigger?: unknown
  traceId?: string
  endpointId?: string
}

interface Trace {
  entityType: string
  outcome: 'SUCCESS' | 'FAILURE'
  stage?: string
  reason?: string
  metadata?: { log?: unknown; durationMs?: number }
}

interface TryResult {
  returnedValue: string
  traces: Trace[]
  effects: { actionId: string; type: string; wouldDo: unknown }[]
}

/** Tries a script on an event: the platform runs the script, but sends and changes nothing. */
export async function run(args: string[]): Promise<number> {
  try {
    const { expression, event, ruleId } = readArguments(args)
    return printResult(await tryScript(expression, event, ruleId))
  } catch (error) {
    if (!(error instanceof ArgumentError) && !(error instanceof SimulationError)) throw error
    process.stderr.write(`waypost: ${error.message}\n${error instanceof ArgumentError ? `\n${usage}` : ''}`)
    return error instanceof ArgumentError ? 2 : 1
  }
}

function readArguments(args: string[]) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { event: { type: 'string' }, endpoint: { type: 'string' }, rule: { type: 'string' } },
  })
  const [action, file, ...more] = positionals
  if (action !== 'try' || file === undefined || more.length > 0 || values.event === undefined)
    throw new ArgumentError('expected: rules try <file> --event <file>')
  const event = readEvent(values.event)
  if (values.endpoint !== undefined) event.endpointId = values.endpoint
  return { expression: read(file), event, ruleId: values.rule }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ArgumentError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

function readEvent(file: string): Event {
  const input = parse(file)
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw new ArgumentError(`${file}: expected a JSON object`)
  if (!('trigger' in input) && !('traceId' in input)) return { trigger: input }
  const { trigger, traceId, endpointId } = input as Event
  return {
    ...(trigger !== undefined && { trigger }),
    ...(traceId !== undefined && { traceId }),
    ...(endpointId !== undefined && { endpointId }),
  }
}

function parse(file: string): unknown {
  try {
    return JSON.parse(read(file))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new ArgumentError(`${file} is not JSON: ${error.message}`)
  }
}

/** Tries the script with the actions of a rule. Without a rule, a disabled rule is created for this call only. */
async function tryScript(expression: string, event: Event, ruleId: string | undefined): Promise<TryResult> {
  const callApi = createCallApi(readBootstrap(loadConfig().dataDirectory))
  const rules = '/re/api/v1/rules'
  const callTry = async (id: string) =>
    (await callApi('POST', `${rules}/${encodeURIComponent(id)}/try`, { ...event, expression })).body as TryResult
  if (ruleId !== undefined) return await callTry(ruleId)
  const body = { name: 'waypost rules try', expression, state: 'DISABLED' }
  const { location } = await callApi('POST', rules, body, [201])
  const id = location!.split('/').at(-1)!
  try {
    return await callTry(id)
  } finally {
    await callApi('DELETE', `${rules}/${id}`, undefined, [204])
  }
}

function printResult({ returnedValue, traces, effects }: TryResult): number {
  for (const { metadata } of traces) for (const line of [metadata?.log ?? []].flat()) print(`log: ${line}`)
  const failures = traces.filter(({ outcome }) => outcome === 'FAILURE')
  if (traces[0]?.outcome !== 'FAILURE') print(`returned: ${returnedValue}`)
  for (const { entityType, stage, reason } of failures) print(`failed: ${entityType} (${stage}): ${reason}`)
  for (const { type, wouldDo } of effects) print(`would do: ${type} ${JSON.stringify(wouldDo)}`)
  return failures.length > 0 ? 1 : 0
}
