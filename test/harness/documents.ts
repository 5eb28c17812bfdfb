/** Extracts the shell commands of a document and runs them unchanged, except for the data directory. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { temporaryDirectory } from './database.ts'

export function commandsOf(document: string): string[] {
  const text = readFileSync(new URL(`../../${document}`, import.meta.url), 'utf8')
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block!)
}

/** Runs the commands in one shell, in an empty folder. The shell exits at the first command that fails. */
export function runAsWritten(commands: string[], { dataDirectory }: { dataDirectory: string }) {
  const cwd = temporaryDirectory()
  mkdirSync(cwd, { recursive: true })
  const input = commands.join('\n').replaceAll('./data/', `${dataDirectory}/`)
  return spawnSync('sh', ['-eu'], { input, cwd, encoding: 'utf8' })
}
