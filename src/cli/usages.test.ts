/** Tests the help texts of commands. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { commands } from './commands.ts'
import { run as runCompletion } from './completion.ts'

test('the help of every command that accepts --context names it', async () => {
  const accepting = Object.keys(commands).filter((name) =>
    readFileSync(join(import.meta.dirname, `${name}.ts`), 'utf8').includes("context: { type: 'string' }"),
  )
  assert.ok(accepting.length > 5, accepting.join(', '))
  for (const name of accepting) assert.match((await commands[name]!.load()).usage ?? '', /--context <name>/, name)
})

test('completion rejects a word that is no shell', async () => {
  for (const shell of ['constructor', '__proto__', 'tcsh'])
    await assert.rejects(runCompletion([shell], commands), /expected a shell/, shell)
})
