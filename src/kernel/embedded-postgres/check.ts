import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { chooseAccount } from './account.ts'
import { locateBinaries } from './binaries.ts'
import { layout } from './cluster.ts'

/** Checks that the PostgreSQL programs can be run, and returns their version. Throws the errors that a start of the server would throw. */
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
