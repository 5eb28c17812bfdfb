/** Prints what the prose rules find: `tools/run tools/prose-report.ts src/kernel`. */
import { globSync, readFileSync } from 'node:fs'
import { proseProblems, proseWarnings } from './prose.ts'

const below = process.argv[2] ?? ''
const files = globSync(['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'tools/**/*.ts', 'examples/**/*.mjs'])
  .filter((file) => file.startsWith(below))
  .sort()
for (const file of files) {
  const text = readFileSync(file, 'utf8')
  for (const line of [...proseProblems(file, text), ...proseWarnings(file, text)]) console.log(line)
}
