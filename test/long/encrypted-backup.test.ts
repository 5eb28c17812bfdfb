/** Encrypts a backup and restores it with the commands `backup` and `restore`. */
import assert from 'node:assert/strict'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../harness/database.ts'
import { eventually } from '../harness/eventually.ts'
import { environmentOf, initializedDirectory, runCommand, startPlatform } from '../harness/platform.ts'
import { atTerminal } from '../harness/terminal.ts'

const passphrase = 'correct horse battery staple'

test('a backup that is encrypted with a passphrase can only be restored with this passphrase', async () => {
  const directory = await initializedDirectory()
  const platform = await startPlatform({ directory })
  const ask = await platform.asService(platform.bootstrap.default)
  assert.equal((await ask('POST /api/v1/applications', { name: 'kept-in-backup' })).status, 201)
  const file = join(temporaryDirectory(), 'waypost.backup')
  const secretFile = join(temporaryDirectory(), 'passphrase')
  writeFileSync(secretFile, `${passphrase}\n`)
  const withSetting = { directory, environment: { WAYPOST_BACKUP_PASSPHRASE: passphrase } }
  const withFile = { directory, environment: { WAYPOST_BACKUP_PASSPHRASE_FILE: secretFile } }

  const short = await runCommand(['backup', file], { directory, environment: { WAYPOST_BACKUP_PASSPHRASE: 'short' } })
  assert.deepEqual([short.code, /at least 12 characters/.test(short.stderr)], [2, true])
  const backup = await runCommand(['backup', file], withFile)
  assert.equal(backup.code, 0, backup.stderr)
  assert.match(backup.stdout, /The backup is encrypted/)
  assert.ok(!readFileSync(file).includes('kept-in-backup'))
  assert.ok(!`${backup.stdout}${backup.stderr}`.includes(passphrase))
  assert.equal((await ask('DELETE /api/v1/applications/kept-in-backup')).status < 300, true)

  const none = await runCommand(['restore', file, '--yes'], { directory })
  assert.deepEqual([none.code, /is encrypted: set WAYPOST_BACKUP_PASSPHRASE/.test(none.stderr)], [1, true])
  const wrong = await runCommand(['restore', file, '--yes'], {
    directory,
    environment: { WAYPOST_BACKUP_PASSPHRASE: 'another passphrase' },
  })
  assert.deepEqual([wrong.code, /The passphrase does not open/.test(wrong.stderr)], [1, true])
  const truncated = `${file}.short`
  writeFileSync(truncated, readFileSync(file))
  truncateSync(truncated, readFileSync(file).length - 1000)
  const damaged = await runCommand(['restore', truncated, '--yes'], withSetting)
  assert.deepEqual([damaged.code, /is damaged/.test(damaged.stderr)], [1, true])
  assert.equal((await ask('GET /api/v1/applications/kept-in-backup')).status, 404)
  assert.match((await runCommand(['restore', file, '--check'], withSetting)).stdout, /Every checksum matches/)

  const restored = await runCommand(['restore', file, '--yes'], withSetting)
  assert.equal(restored.code, 0, restored.stderr)
  const again = await platform.asService(platform.bootstrap.default)
  await eventually(async () => assert.equal((await again('GET /api/v1/applications/kept-in-backup')).status, 200))

  const main = resolve(import.meta.dirname, '../../bin/main.mjs')
  const terminal = atTerminal(`${process.execPath} ${main} restore ${file} --check`, environmentOf(directory))
  await eventually(() => assert.match(terminal.output(), /Passphrase of /))
  terminal.type(`${passphrase}x\u007f\r`)
  assert.equal(await terminal.exit, 0, terminal.output())
  assert.match(terminal.output(), /Every checksum matches/)
  assert.ok(!terminal.output().includes('horse'), 'the terminal must not show the passphrase')
})
