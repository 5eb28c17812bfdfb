import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { afterAllTests } from '../../test/harness/database.ts'
import { lockDirectory } from './directory-lock.ts'

const root = mkdtempSync(join(tmpdir(), 'waypost-lock-test-'))
afterAllTests(() => rmSync(root, { recursive: true, force: true }))

const module = JSON.stringify(new URL('./directory-lock.ts', import.meta.url).href)

function script(directory: string, then: string): string[] {
  return [
    '--input-type=module',
    '-e',
    `const { lockDirectory } = await import(${module}); lockDirectory(${JSON.stringify(directory)}); ${then}`,
  ]
}

/** Tries to take the lock in another process. */
function lockInOtherProcess(directory: string): string {
  return spawnSync(process.execPath, script(directory, `console.log('locked')`), { encoding: 'utf8' }).stdout.trim() ===
    'locked'
    ? 'locked'
    : 'refused'
}

test('a missing directory is created with access for its owner only', () => {
  const directory = join(root, 'deep', 'new ü')
  const lock = lockDirectory(directory)
  assert.equal(statSync(directory).mode & 0o777, 0o700)
  assert.equal(statSync(join(directory, 'lock')).mode & 0o777, 0o600)
  lock.release()
})

test('a second lock fails with an error that names the pid of the holder, and succeeds after the release', () => {
  const directory = join(root, 'second')
  const lock = lockDirectory(directory)
  assert.throws(() => lockDirectory(directory), {
    message:
      `The data directory ${directory} is in use by another Waypost process (pid ${process.pid}). ` +
      'Stop that process first, or choose another directory.',
  })
  assert.equal(lockInOtherProcess(directory), 'refused', 'the failed attempt must not release the first lock')
  lock.release()
  lock.release()
  assert.equal(lockInOtherProcess(directory), 'locked')
  lockDirectory(directory).release()
})

test('a lock to which no variable refers is not released by garbage collection', () => {
  const directory = join(root, 'collected')
  const options = ['--expose-gc', ...script(directory, 'gc(); gc(); setInterval(() => gc(), 5); console.log("held")')]
  const holder = spawn(process.execPath, options, { stdio: ['ignore', 'pipe', 'inherit'] })
  return once(holder.stdout, 'data')
    .then(() => assert.equal(lockInOtherProcess(directory), 'refused'))
    .finally(() => holder.kill('SIGKILL'))
})

test('the lock of a killed process is released, even while the process is a zombie', async () => {
  const directory = join(root, 'killed')
  // The shell does not wait for its child, so the child stays a zombie after the kill.
  const node = [process.execPath, ...script(directory, 'console.log(process.pid); setInterval(() => {}, 1000)')]
  const parent = spawn('/bin/sh', ['-c', '"$@" & exec sleep 60', 'sh', ...node], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [output] = (await once(parent.stdout, 'data')) as [Buffer]
    const pid = Number(output)
    assert.throws(() => lockDirectory(directory), new RegExp(`in use by another Waypost process \\(pid ${pid}\\)`))
    process.kill(pid, 'SIGKILL')
    await eventually(() => lockDirectory(directory).release())
    process.kill(pid, 0)
  } finally {
    parent.kill('SIGKILL')
  }
})

test('a stale pid file with the pid of another process does not prevent a lock', () => {
  const directory = join(root, 'stale')
  lockDirectory(directory).release()
  writeFileSync(join(directory, 'lock.pid'), '1\n')
  const lock = lockDirectory(directory)
  assert.equal(readFileSync(join(directory, 'lock.pid'), 'utf8'), `${process.pid}\n`)
  lock.release()
})

test('a path that cannot be locked is rejected with the reason', () => {
  const file = join(root, 'file')
  writeFileSync(file, '')
  assert.throws(() => lockDirectory(file), /The data directory .*file cannot be used: EEXIST.* can write to/)

  // Root can write everywhere except in /proc. For other users, a directory without write permission is enough.
  const closed = process.getuid?.() === 0 ? '/proc/self' : mkdtempSync(join(root, 'closed-'))
  if (process.getuid?.() !== 0) chmodSync(closed, 0o500)
  assert.throws(() => lockDirectory(closed), /The data directory .* cannot be used: .* can write to/)
})

test('locking writes nothing to stderr', () => {
  const { stderr, status } = spawnSync(process.execPath, script(join(root, 'quiet'), ''), { encoding: 'utf8' })
  assert.deepEqual({ stderr, status }, { stderr: '', status: 0 })
})

async function eventually(attempt: () => void): Promise<void> {
  const deadline = performance.now() + 5000
  for (;;) {
    try {
      return attempt()
    } catch (error) {
      if (performance.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
}
