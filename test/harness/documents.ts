/** The commands of a document, run as they stand: only the data directory differs. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { temporaryDirectory } from './database.ts'

export function commandsOf(document: string): string[] {
  const text = readFileSync(new URL(`../../${document}`, import.meta.url), 'utf8')
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block!)
}

/** In one shell that ends at the first command that fails, in a folder of its own. */
export function runAsWritten(commands: string[], { dataDirectory }: { dataDirectory: string }) {
  const cwd = temporaryDirectory()
  mkdirSync(cwd, { recursive: true })
  const input = commands.join('\n').replaceAll('./data/', `${dataDirectory}/`)
  return spawnSync('sh', ['-eu'], { input, cwd, encoding: 'utf8' })
}
