import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { checkFile } from './device.ts'

const content = Buffer.alloc(200_000, 'firmware')
const digestOf = (bytes: Buffer) => `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`
const aFile = (bytes: Buffer, digest: string | undefined) =>
  Object.assign(new Blob([new Uint8Array(bytes)]).stream() as ReadableStream<Uint8Array>, { digest })

test('a simulated device accepts the file of a version only if it matches its digest', async () => {
  await checkFile(aFile(content, digestOf(content)))
  await checkFile(aFile(content, undefined))
  await assert.rejects(checkFile(aFile(content.subarray(1), digestOf(content))), /does not match its digest/)
  await assert.rejects(checkFile(aFile(Buffer.alloc(0), digestOf(content))), /does not match its digest/)
})
