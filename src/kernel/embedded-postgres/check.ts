import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { chooseAccount } from './account.ts'
import { locateBinaries } from './binaries.ts'
import { layout } from './cluster.ts'

/** Runs the same programs as a start and returns the server's version; throws the same errors as a start. */
export function checkBinaries(directory: string): string {
  const { cluster } = layout(resolve(directory))
  const binaries = locateBinaries(chooseAccount(cluster), resolve(directory))
  for (const program of [binaries.initdb, binaries.postgres]) {
    const { status, stderr, error } = spawnSync(program, ['--version'], { encoding: 'utf8', env: { LC_ALL: 'C' } })
    if (error) throw error
    if (status !== 0) throw new Error(`${program} cannot be run: ${stderr.trim().split('\n')[0]}`)
  }
  return spawnSync(binaries.postgres, ['--version'], { encoding: 'utf8', env: { LC_ALL: 'C' } }).stdout.trim()
}
