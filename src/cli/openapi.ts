import { parseArgs } from 'node:util'
import { offlineApiDocument } from '../assembly/offline.ts'

/** Prints the API reference. It needs no platform and no database. */
export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { 'base-url': { type: 'string', default: 'http://127.0.0.1:8080' } } })
  process.stdout.write(`${JSON.stringify(await offlineApiDocument(values['base-url']), null, 2)}\n`)
  return 0
}
