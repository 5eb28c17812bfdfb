import { existsSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

export const usage = `usage: waypost console build --out <folder>

Builds the web console into an empty folder. A platform with WAYPOST_CONSOLE_DIR=<folder> serves it and builds none itself,
for images and packages that bring it ready-made.
`

/** Builds the web console. It needs no platform and no database. */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { out: { type: 'string' } } })
  if (positionals[0] !== 'build' || positionals.length !== 1 || values.out === undefined) {
    process.stderr.write(usage)
    return 2
  }
  const directory = resolve(values.out)
  if (existsSync(directory) && readdirSync(directory).length > 0) {
    process.stderr.write(`waypost: ${directory} is not empty\n`)
    return 2
  }
  const { bundleConsole } = await import('../assembly/console/bundle.ts')
  const { files } = await bundleConsole(directory)
  const sizes = Object.values(files).map(({ sizes }) => sizes.gzip ?? sizes.identity)
  const kilobytes = Math.round(sizes.reduce((sum, size) => sum + size, 0) / 1024)
  process.stdout.write(`${sizes.length} files, ${kilobytes} KB compressed with gzip, in ${directory}\n`)
  return 0
}
