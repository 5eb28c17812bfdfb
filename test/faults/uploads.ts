/**
 * Uploads blobs, and one file repeatedly. Acknowledged blobs must be complete; the file must have its old or its new content, never a
 * mixture.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { type Ask, client } from '../harness/client.ts'
import { eventually } from '../harness/eventually.ts'
import { createFixtures } from '../harness/gateway.ts'
import type { RunningPlatform } from '../harness/platform.ts'
import { uploadTokenOf } from '../harness/upload-token.ts'
import type { AdditionalLoad } from './kill.ts'

export const root = '/bcx/api/v1'
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

export const createCamera = (ask: Ask) => createFixtures(ask).aProvisionedEndpoint()

export function uploadLoad(): AdditionalLoad & { blobs: number } {
  let camera: Awaited<ReturnType<typeof createCamera>> | undefined
  /** Key: location of an acknowledged blob. Value: its checksum. */
  const blobs = new Map<string, string>()
  let verified = 0
  /** Checksums that the file may have: of the last acknowledged content, or of content that was sent later. */
  let acceptedChecksums: string[] = []
  let fileAcknowledged = false
  const adminOf = ({ asService, bootstrap }: RunningPlatform) => asService(bootstrap.default)

  return {
    get blobs() {
      return blobs.size
    },

    async write(platform) {
      camera ??= await createCamera(await adminOf(platform))
      const headers = { 'x-auth-token': await uploadTokenOf(platform.baseUrl, camera) }
      const ask = client(platform.baseUrl, headers)
      const blobsBefore = blobs.size
      let isRunning = true
      const post = async (path: string, content: Uint8Array) => {
        const answer = await ask(`POST ${root}${path}`, content).catch(() => undefined)
        if (!answer) isRunning = false
        return answer && answer.status < 300 ? answer : undefined
      }
      const writers = [
        async () => {
          const content = randomBytes(100_000)
          const answer = await post('/binary-data', content)
          if (answer) blobs.set(new URL(answer.headers.get('location')!, platform.baseUrl).pathname, sha256(content))
        },
        async () => {
          const content = randomBytes(1_000_000)
          acceptedChecksums.push(sha256(content))
          if (!(await post('/files/steady', content))) return
          acceptedChecksums = [sha256(content)]
          fileAcknowledged = true
        },
      ]
      const ended = Promise.all(
        writers.map(async (write) => {
          while (isRunning) await write()
        }),
      )
      return { begun: eventually(() => assert.ok(blobs.size > blobsBefore && fileAcknowledged)), ended }
    },

    async verify(platform, isLast) {
      if (!camera) return
      const admin = await adminOf(platform)
      const headers = await platform.authorizationOf(platform.bootstrap.default)
      const checksumOf = async (path: string) => {
        const answer = await fetch(platform.baseUrl + path, { headers })
        assert.equal(answer.status, 200, path)
        return sha256(new Uint8Array(await answer.arrayBuffer()))
      }
      for (const [location, checksum] of [...blobs].slice(isLast ? 0 : verified))
        assert.equal(await checksumOf(`${location}/data`), checksum, location)
      verified = blobs.size
      const steady = await checksumOf(`${root}/applications/${camera.app}/endpoints/${camera.endpointId}/files/steady`)
      assert.ok(acceptedChecksums.includes(steady), 'the content must be the old or the new content')
      acceptedChecksums = [steady]
      const { body } = await admin(`GET ${root}/applications/${camera.app}/binary-data/list?limit=0`)
      assert.ok(body.totalElements >= blobs.size)
    },
  }
}
