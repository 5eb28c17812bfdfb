import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { hasEnded, thisProcess } from './process-identity.ts'

const options = { skip: process.platform !== 'linux' && 'only Linux shows other processes' }

test(
  'this process, a process of another machine or namespace, and an absent or invalid identity do not count as ended',
  options,
  () => {
    const own = thisProcess()!
    assert.match(own, /^[0-9a-f-]{36} pid:\[\d+\] \d+ \d+$/)
    const others = [
      own,
      undefined,
      '',
      'x',
      own.replace(/^\S+/, 'other'),
      own.replace(/pid:\S+/, 'pid:[1]'),
      own.replace(/ \d+ \d+$/, ' 0 0'),
    ]
    for (const identity of others) assert.equal(hasEnded(identity), false, identity)
  },
)

test(
  'a process has ended if its id is free, or belongs to a process that started at another time',
  options,
  async () => {
    const child = spawn(process.execPath, ['-e', ''])
    const identity = thisProcess()!.replace(/ \d+ (\d+)$/, ` ${child.pid} $1`)
    await once(child, 'close')
    assert.equal(hasEnded(identity), true)
    assert.equal(hasEnded(thisProcess()!.replace(/\d+$/, '1')), true)
  },
)
