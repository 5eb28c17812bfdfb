import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../harness/eventually.ts'
import { startPlatform } from '../harness/platform.ts'
import { uploadTokenOf } from '../harness/upload-token.ts'
import { createCamera, root } from './uploads.ts'

test('while an upload is in progress, the platform stops within ten seconds with exit code 0', async () => {
  const platform = await startPlatform({ environment: { WAYPOST_LOG_LEVEL: 'fatal' } })
  const token = await uploadTokenOf(
    platform.baseUrl,
    await createCamera(await platform.asService(platform.bootstrap.default)),
  )
  const blobs = join(platform.directory, 'blobs')
  const unfinished = () => (existsSync(blobs) ? filesIn(blobs).filter((name) => name.includes('unfinished')) : [])
  const socket = connect(Number(new URL(platform.baseUrl).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`POST ${root}/files/a HTTP/1.1\r\nhost: x\r\nx-auth-token: ${token}\r\ncontent-length: 9999\r\n\r\nhalf`)
  await eventually(() => assert.equal(unfinished().length, 1))
  const began = performance.now()
  assert.equal(await platform.kill('SIGTERM'), 0)
  assert.ok(performance.now() - began < 10_000)
  socket.destroy()
})

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
