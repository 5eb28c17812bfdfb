/** Copies a build of the console and gives every file a new name, as an upgrade does. */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Manifest } from '../../src/assembly/console/manifest.ts'
import { hashSources, projectDirectory } from '../../src/assembly/console/sources.ts'

/** Returns the folder with the build of the current sources. The folder exists after a platform has served the console. */
export const presentBuild = async () =>
  join(projectDirectory, 'node_modules/.cache/waypost-console', await hashSources())

/** Replaces the hash in a file name: `app-ABCDEFGH.js` becomes `app-NEWDEFGH.js`. */
const renamed = (text: string) => text.replace(/-[A-Z0-9]{3}([A-Z0-9]{5}\.(?:js|css|png|svg)\b)/g, '-NEW$1')

/**
 * Copies a build with new file names. The new names are as long as the old names, so the sizes in the manifest stay correct, except for
 * compressed files.
 */
export function makeNewerBuild(from: string, to: string) {
  cpSync(from, to, { recursive: true })
  for (const name of readdirSync(to)) {
    const file = join(to, name)
    const isText = /\.(?:js|css|json)$/.test(name)
    const content = isText ? Buffer.from(renamed(readFileSync(file, 'utf8'))) : readFileSync(file)
    rmSync(file)
    if (!/\.(?:br|gz)$/.test(name)) writeFileSync(join(to, renamed(name)), content)
  }
  const manifest = JSON.parse(readFileSync(join(to, 'manifest.json'), 'utf8')) as Manifest
  for (const { sizes } of Object.values(manifest.files)) {
    delete sizes.br
    delete sizes.gzip
  }
  writeFileSync(join(to, 'manifest.json'), JSON.stringify(manifest))
}
