/** Finds the sources of the web console and computes their hash. The folder of a build is named by this hash. */
import { createHash } from 'node:crypto'
import { glob, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

/** The folder that contains `console`, `sdk` and `package-lock.json`. */
export const projectDirectory = resolve(import.meta.dirname, '../../..')

const patterns = ['console/src/**/*.{ts,tsx,css}', 'sdk/src/**/*.ts']
const others = ['package-lock.json', 'src/assembly/console/bundle.ts', 'src/assembly/console/manifest.ts']

/** Hashes all files that determine the build. The hash is the same in every copy of the project. */
export async function hashSources(): Promise<string> {
  const files = [...others]
  for await (const file of glob(patterns, { cwd: projectDirectory }))
    if (!/\.test\.tsx?$/.test(file)) files.push(file.replaceAll('\\', '/'))
  const hash = createHash('sha256')
  for (const file of files.sort()) {
    const content = await readFile(join(projectDirectory, file))
    hash.update(`${file} ${content.length}\n`).update(content)
  }
  return hash.digest('hex').slice(0, 20)
}
