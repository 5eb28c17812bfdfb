import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { systemClock } from '../kernel/clock.ts'
import { simulateFile } from '../services/ingest/contract.ts'
import { print } from './output.ts'

export const usage = `usage: waypost pipeline simulate <file>

  simulate <file>   run the documents of a JSON file through its pipeline and print the result

The file holds {"pipeline": {"processors": […]}, "docs": [{"_source": {…}}]}, as the simulation of the API takes it.
"pipelines" may hold further pipelines by name, for pipeline processors. No platform and no database are needed.
`

const fail = (problem: string) => {
  process.stderr.write(`waypost: ${problem}\n`)
  return 1
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch {
    return undefined
  }
}

/** Runs a pipeline in the same way as the platform, but without a platform. */
export async function run(args: string[]): Promise<number> {
  const { positionals } = parseArgs({ args, allowPositionals: true, options: {} })
  const [action, file, ...rest] = positionals
  if (action !== 'simulate' || file === undefined || rest.length > 0) {
    process.stderr.write(usage)
    return 2
  }
  const text = readText(file)
  if (text === undefined) return fail(`the file ${file} cannot be read`)
  const result = simulateFile(text, systemClock().toISOString())
  if ('problem' in result) return fail([`${file}: ${result.problem}`, ...result.mistakes].join('\n  '))
  print(`{"docs":[\n${result.documents.map((document) => `  ${document}`).join(',\n')}\n]}`)
  return 0
}
