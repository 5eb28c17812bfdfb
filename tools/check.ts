/** `npm run check`: checks format, lint, types, architecture rules and generated files. `--fix` repairs format and generated files. */
import { spawnSync } from 'node:child_process'

const fix = process.argv.includes('--fix')
const steps: [string, string[]][] = [
  ['node_modules/.bin/biome', ['check', '--error-on-warnings', ...(fix ? ['--write'] : []), '.']],
  ['node_modules/.bin/tsc', []],
  ['node_modules/.bin/tsc', ['-p', 'console']],
  [process.execPath, ['tools/tidy.ts']],
  [process.execPath, ['tools/documents.ts']],
  [process.execPath, ['tools/docs.ts', ...(fix ? [] : ['--check'])]],
]

let failed = false
for (const [command, args] of steps) {
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  if (status !== 0) failed = true
}
process.exit(failed ? 1 : 0)
