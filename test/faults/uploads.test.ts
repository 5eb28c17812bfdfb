/**
 * Kills every process of the platform with SIGKILL in the middle of uploads, starts it again, and holds what is there against
 * what was acknowledged: all of it, whole; and of a file the old content or the new one.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { sleep } from '../../src/kernel/clock.ts'
import { bytesOf } from '../harness/binary-data.ts'
import { throwAwayDirectory } from '../harness/database.ts'
import { eventually } from '../harness/eventually.ts'
import { type RunningPlatform, startPlatform } from '../harness/platform.ts'
import { treeOf } from '../harness/processes.ts'
import { uploadTokenOf } from '../harness/upload-token.ts'

const root = '/bcx/api/v1'
const endpoint = { tenantId: 'default', applicationName: 'camera', endpointId: 'ep-1' }
const path = `${root}/applications/camera/endpoints/ep-1`
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

async function killAll(platform: RunningPlatform) {
  const ended = new Promise((done) => platform.process.once('close', done))
  for (const pid of treeOf(platform.process.pid!).reverse())
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended already.
    }
  await ended
}

test('what was acknowledged before a kill is there after it, and nothing is half', async () => {
  const directory = throwAwayDirectory()
  /** Location → checksum of acknowledged blobs. */
  const blobs = new Map<string, string>()
  /** What the file may hold: the last acknowledged content, or one sent after it. */
  let possible: string[] = []
  for (let round = 0; round < 4; round++) {
    const platform = await startPlatform({ directory, environment: { WAYPOST_LOG_LEVEL: 'fatal' } })
    const service = await platform.asService(platform.bootstrap.default)
    if (round === 0) {
      await service('POST /api/v1/applications', { name: 'camera' })
      await service('POST /api/v1/applications/camera/app-versions', { nameSuffix: 'v1' })
      const made = await service('POST /epr/api/v1/endpoints', {
        appVersion: { name: 'camera-v1' },
        endpointId: 'ep-1',
      })
      assert.equal(made.status, 201, made.text)
    }
    for (const [location, checksum] of blobs) {
      const answer = await fetch(location.replace(/^https?:\/\/[^/]+/, platform.baseUrl) + '/data', {
        headers: { authorization: await authorizationOf(platform) },
      })
      assert.equal(answer.status, 200, location)
      assert.equal(sha256(new Uint8Array(await answer.arrayBuffer())), checksum)
    }
    if (possible.length > 0) {
      const answer = await fetch(`${platform.baseUrl}${path}/files/steady`, {
        headers: { authorization: await authorizationOf(platform) },
      })
      assert.equal(answer.status, 200)
      const checksum = sha256(new Uint8Array(await answer.arrayBuffer()))
      assert.ok(possible.includes(checksum), `neither the old content nor the new one after round ${round}`)
      possible = [checksum]
    }
    const { body } = await service(`GET ${root}/applications/camera/binary-data/list?limit=0`)
    assert.ok(body.totalElements >= blobs.size)
    if (round === 3) {
      // What the rows name is there, and beside it only what was being written.
      const kept = filesIn(join(directory, 'blobs')).filter((name) => !name.includes('unfinished'))
      assert.ok(kept.length >= body.totalElements + 1)
      await platform.kill('SIGTERM')
      continue
    }
    const token = await uploadTokenOf(platform, endpoint)
    let going = true
    const post = async (where: string, content: Uint8Array) => {
      const answer = await fetch(`${platform.baseUrl}${root}${where}`, {
        method: 'POST',
        headers: { 'x-auth-token': token },
        body: content as never,
      })
      return answer.status < 300 ? answer : undefined
    }
    const writers = [
      async (n: number) => {
        const content = bytesOf(300_000 + n, round * 1000 + n)
        const answer = await post('/binary-data', content)
        if (answer) blobs.set(answer.headers.get('location')!, sha256(content))
      },
      async (n: number) => {
        const content = bytesOf(4_000_000 + n, round * 1000 + n)
        possible.push(sha256(content))
        if (await post('/files/steady', content)) possible = [sha256(content)]
      },
    ]
    const writing = writers.map(async (write) => {
      for (let n = 0; going; n++) await write(n).catch(() => {})
    })
    await sleep(700 + 300 * round)
    await killAll(platform)
    going = false
    await Promise.all(writing)
  }
  assert.ok(blobs.size > 0)
})

test('a stop does not wait for an upload: exit code 0 within ten seconds', async () => {
  const platform = await startPlatform({ environment: { WAYPOST_LOG_LEVEL: 'fatal' } })
  const service = await platform.asService(platform.bootstrap.default)
  await service('POST /api/v1/applications', { name: 'camera' })
  await service('POST /api/v1/applications/camera/app-versions', { nameSuffix: 'v1' })
  await service('POST /epr/api/v1/endpoints', { appVersion: { name: 'camera-v1' }, endpointId: 'ep-1' })
  const token = await uploadTokenOf(platform, endpoint)
  const blobs = join(platform.directory, 'blobs')
  const kept = () => (existsSync(blobs) ? filesIn(blobs).filter((name) => name.includes('unfinished')) : [])
  const socket = connect(Number(new URL(platform.baseUrl).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`POST ${root}/files/a HTTP/1.1\r\nhost: x\r\nx-auth-token: ${token}\r\ncontent-length: 9999\r\n\r\nhalf`)
  await eventually(() => assert.equal(kept().length, 1))
  const began = performance.now()
  assert.equal(await platform.kill('SIGTERM'), 0)
  assert.ok(performance.now() - began < 10_000)
  socket.destroy()
})

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => statSync(join(folder, name)).isFile())

async function authorizationOf({ baseUrl, bootstrap }: RunningPlatform) {
  const { id, secret } = bootstrap.default.backendClient
  const answer = await fetch(`${baseUrl}/auth/realms/default/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret }),
  })
  return `Bearer ${((await answer.json()) as { access_token: string }).access_token}`
}
