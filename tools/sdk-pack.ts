/** `npm run sdk:pack`: writes the package of the SDK, waypost-sdk-<version>.tgz, into the current folder. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { packSdk } from './sdk/package.ts'

const folder = mkdtempSync(join(tmpdir(), 'waypost-sdk-'))
try {
  const tarball = packSdk(folder)
  cpSync(tarball, resolve(basename(tarball)))
  console.log(basename(tarball))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
