/** Runs `waypost <noun> <verb>`: calls an operation and prints the response. */
import type { Description } from '../../../sdk/src/descriptions.ts'
import { send } from '../../../sdk/src/request.ts'
import { transportOf } from '../../../sdk/src/transport.ts'
import type { Answer, Download, Operation, ServerEvent } from '../../../sdk/src/types.ts'
import { choose, connect, optionsOf } from './connection.ts'
import { CommandError, exitCodes } from './errors.ts'
import { existsSync, renameSync, rmSync } from './files.ts'
import { type ParsedCommand, parseCommand } from './flags.ts'
import type { Printing } from './print.ts'
import { visible, visibleAtTerminal } from './visible.ts'

export async function callOperation(description: Description, argv: string[]): Promise<void> {
  const { name } = description
  const parsed = parseCommand(description, argv)
  const body = await bodyOf(description, parsed)
  const args = { ...parsed.args, ...(body !== undefined && { body }) }
  const { flags } = parsed
  const idsOf = flags.output === 'id' ? await idReaderOf(description) : () => []
  const printing: Printing = { ...flags, known: description.answer.columns ?? [], idsOf }
  if (printing.columns) (await loadPrint()).checkColumns(printing)
  if (flags.dryRun) {
    const { curlOf } = await import('./dry-run.ts')
    await (await loadPrint()).write(`${await curlOf((await choose(flags)).url, name, args, flags)}\n`)
    return
  }
  if (description.paged) return await (await loadPrint()).printList(await itemsOf(description, args, parsed), printing)
  // The request is sent without a client of the SDK, because a client also loads the modules for lists and live streams, which takes 5 ms.
  const transport = transportOf(optionsOf(await choose(flags)))
  const options = flags.ifMatch === undefined ? {} : { ifMatch: flags.ifMatch }
  const [answer] = await Promise.all([send(transport, operationOf(description), args, options), loadPrintLater()])
  if (answer.status === 412)
    throw new CommandError(
      'another caller has changed the object; read the object again, and repeat the command',
      exitCodes.conflict,
    )
  await printAnswer(description, answer, parsed, printing)
}

/** Returns the function that finds the ids in a response. Other outputs than `-o id` do not load its code. */
async function idReaderOf(description: Description): Promise<Printing['idsOf']> {
  const { idSourceOf, idsOf } = await import('./ids.ts')
  const source = await idSourceOf(description)
  return (value) => idsOf(value, source)
}

const loadPrint = () => import('./print.ts')

/** Loads the code for printing after the request was sent, while the platform prepares the response. */
async function loadPrintLater() {
  await new Promise((resolve) => void setImmediate(resolve))
  await loadPrint()
}

const answers: Record<string, Operation['answer']> = {
  'application/octet-stream': 'bytes',
  'text/event-stream': 'events',
}

/** Converts a description to an operation of the SDK. Reading the operation from the table of the SDK would take 3 ms of each command. */
export const operationOf = ({
  name,
  method,
  path,
  reads,
  open,
  body,
  answer,
  ...described
}: Description): Operation => ({
  name,
  method,
  path,
  reads,
  open,
  bodyType: body?.type ?? 'application/json',
  answer: answers[answer.type ?? ''] ?? 'json',
  headers: described.arguments.filter((item) => item.in === 'header').map((item) => item.name),
  paging: undefined,
})

async function bodyOf(description: Description, parsed: ParsedCommand): Promise<unknown> {
  if (!description.body && parsed.flags.file === undefined) return undefined
  const { readBody } = await import('./body.ts')
  return await readBody(description, parsed)
}

async function itemsOf(description: Description, args: Record<string, unknown>, { flags }: ParsedCommand) {
  const { client } = await connect(flags)
  const paged = flags.pageSize === undefined ? args : { ...args, ...pageSizeOf(description, flags.pageSize) }
  const list = client.list(description.name, paged)
  return flags.limit === undefined ? list : list.take(flags.limit)
}

/** Returns the parameter for the number of items on a page. Lists call it `limit` or `size`. */
function pageSizeOf({ arguments: described }: Description, count: number) {
  const size = described.find((item) => item.name === 'limit' || item.name === 'size')
  return size ? { [size.name]: count } : {}
}

async function printAnswer(description: Description, answer: Answer, { flags }: ParsedCommand, printing: Printing) {
  const { type } = description.answer
  const { printObject, requireObject, write } = await loadPrint()
  if (type === 'text/event-stream') return await printEvents(answer.body as AsyncIterable<ServerEvent>)
  if (isStream(answer.body)) return await saveBytes(answer.body, flags)
  // A response without a body is possible after a change, but not after a read that was successful.
  const hasBody = answer.body !== undefined || (description.method === 'GET' && answer.status === 200)
  const isKnown = description.statuses.includes(answer.status)
  if (hasBody || !isKnown) for (const item of itemsIn(answer.body)) requireObject(item, printing)
  if (answer.body !== undefined) return await printObject(answer.body, printing)
  if (answer.location === undefined) return
  const id = decodeURIComponent(new URL(answer.location, 'http://localhost').pathname.split('/').at(-1) ?? '')
  if (flags.output === 'json' || flags.output === 'yaml')
    return await printObject({ id, location: answer.location }, printing)
  await write(`${visible(id)}\n`)
}

/** Returns the objects of a response. Some operations answer with an array of objects. */
const itemsIn = (body: unknown): unknown[] => (Array.isArray(body) ? body : [body])

/** Returns whether a body is a stream of bytes. Naming the class `ReadableStream` would load it, which takes 5 ms of each command. */
const isStream = (body: unknown): body is Download => typeof (body as Download | undefined)?.getReader === 'function'

async function printEvents(events: AsyncIterable<ServerEvent>) {
  const { write } = await loadPrint()
  for await (const { event, data, id } of events)
    await write(visibleAtTerminal(`${JSON.stringify({ event, id, data: parsedOrText(data) })}\n`))
}

function parsedOrText(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return data
  }
}

/** Writes a download to standard output, or to a file that appears only when it is complete. */
async function saveBytes(body: Download, { save, force }: { save: string | undefined; force: boolean }) {
  const {
    Readable,
    promises: { pipeline },
  } = await import('node:stream')
  const { createWriteStream } = await import('node:fs')
  const source = Readable.fromWeb(body as never)
  if (save === undefined) {
    if (process.stdout.isTTY) throw new CommandError('the answer is a file; give --save <file>', exitCodes.usage)
    return await pipeline(source, process.stdout, { end: false })
  }
  if (!force && existsSync(save)) throw new CommandError(`${save} exists; --force replaces it`)
  const temporary = `${save}.part-${process.pid}`
  try {
    await pipeline(source, createWriteStream(temporary, { flags: 'wx' }))
    renameSync(temporary, save)
  } finally {
    rmSync(temporary, { force: true })
  }
}
