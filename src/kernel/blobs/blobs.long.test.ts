/** Runs the same tests against files, a simulated S3 store, and a real S3 store if TEST_S3_URL is set. */
import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { temporaryDirectory } from '../../../test/harness/database.ts'
import { openS3, realS3 } from '../../../test/harness/s3.ts'
import { systemClock } from '../clock.ts'
import { type Blobs, newBlobKey, pathOfKey } from './blobs.ts'
import { createFileBlobs } from './files.ts'
import { createS3Blobs } from './s3.ts'

const real = realS3()
const s3 = await openS3()
const stores: [string, Blobs][] = [
  ['files', createFileBlobs(temporaryDirectory())],
  ['S3', createS3Blobs(s3.settings, systemClock)],
]
if (real) stores.push(['the S3 of TEST_S3_URL', createS3Blobs(real, systemClock)])

const mebibyte = 1024 * 1024

async function* pieces(count: number, size = mebibyte) {
  for (let n = 0; n < count; n++) yield Buffer.alloc(size, n)
}
const text = async (blobs: Blobs, key: string, range?: { first: number; last: number }) => {
  const content = await blobs.read(key, range)
  return content && (await buffer(content)).toString()
}
const streamOf = async function* (...texts: string[]) {
  for (const one of texts) yield Buffer.from(one)
}
const keysOf = async (blobs: Blobs) => (await Array.fromAsync(blobs.keys())).map(({ key }) => key)

for (const [name, blobs] of stores)
  describe(name, () => {
    test('a content is read whole and by ranges', async () => {
      const key = newBlobKey()
      await blobs.write(key, streamOf('012', '', '3456', '789'))
      assert.equal(await text(blobs, key), '0123456789')
      assert.equal(await text(blobs, key, { first: 2, last: 4 }), '234')
      assert.equal(await text(blobs, key, { first: 9, last: 9 }), '9')
    })

    test('an empty content can be written and read', async () => {
      const key = newBlobKey()
      await blobs.write(key, streamOf())
      assert.equal(await text(blobs, key), '')
      await blobs.remove(key)
    })

    test('large contents keep their bytes at and around the boundaries of parts', async () => {
      for (const count of [5, 10, 12]) {
        const key = newBlobKey()
        await blobs.write(key, pieces(count))
        const bytes = await buffer((await blobs.read(key))!)
        assert.equal(bytes.length, count * mebibyte)
        for (let n = 0; n < count; n++)
          assert.ok(bytes.subarray(n * mebibyte, (n + 1) * mebibyte).every((byte) => byte === n))
        const range = { first: 5 * mebibyte - 2, last: 5 * mebibyte - 1 }
        assert.deepEqual([...(await buffer((await blobs.read(key, range))!))], [4, 4])
        await blobs.remove(key)
      }
    })

    test('a missing content reads as undefined, and removing it does not fail', async () => {
      const key = newBlobKey()
      assert.equal(await blobs.read(key), undefined)
      await blobs.remove(key)
    })

    test('a content whose write failed cannot be read, and `remove` deletes its incomplete parts', async () => {
      for (const count of [2, 11]) {
        const key = newBlobKey()
        async function* failing() {
          yield* pieces(count)
          throw new Error('the sender has disconnected')
        }
        await assert.rejects(blobs.write(key, failing()), /the sender has disconnected/)
        assert.equal(await blobs.read(key), undefined)
        await blobs.remove(key)
        assert.ok(!(await keysOf(blobs)).includes(key))
      }
      assert.equal(s3.unfinished.size, 0)
    })

    test('a removed content cannot be read, but a reader that has opened it reads to its end', async () => {
      const key = newBlobKey()
      await blobs.write(key, streamOf('kept open'))
      const open = (await blobs.read(key))!
      await blobs.remove(key)
      assert.equal((await buffer(open)).toString(), 'kept open')
      assert.equal(await blobs.read(key), undefined)
    })

    test('all keys are listed with the time of their last change', async () => {
      const newKeys = new Set(Array.from({ length: 120 }, newBlobKey))
      await Promise.all([...newKeys].map((key) => blobs.write(key, streamOf('x'))))
      const found = await Array.fromAsync(blobs.keys())
      for (const key of newKeys) assert.ok(found.some((one) => one.key === key))
      assert.ok(found.every(({ changedAt }) => Math.abs(changedAt.getTime() - Date.now()) < 600_000))
      for (const key of newKeys) await blobs.remove(key)
      assert.ok(!(await keysOf(blobs)).some((key) => newKeys.has(key)))
    })

    test('an invalid key is rejected before the store is touched', async () => {
      for (const key of ['../../etc/passwd', 'x', '', 'A'.repeat(32), `${newBlobKey()}/x`])
        await assert.rejects(async () => await blobs.read(key), /not a blob key/)
    })
  })

test('S3: temporary failures are retried, and permanent failures are reported', async () => {
  const blobs = createS3Blobs(s3.settings, systemClock)
  const key = newBlobKey()
  let left = 2
  s3.injectFailure = () => (left-- > 0 ? (left === 1 ? 503 : 'reset') : undefined)
  await blobs.write(key, streamOf('in the end'))
  assert.equal(await text(blobs, key), 'in the end')
  s3.injectFailure = () => 500
  await assert.rejects(blobs.read(key), /answered 500 to GET .*InternalError/)
  s3.injectFailure = () => undefined
  const unauthorized = createS3Blobs({ ...s3.settings, secretKey: 'wrong' }, systemClock)
  await assert.rejects(unauthorized.read(key), /answered 403 .*SignatureDoesNotMatch/)
  await assert.rejects(unauthorized.write(newBlobKey(), streamOf('x')), /SignatureDoesNotMatch/)
})

test('S3: other objects in the bucket are ignored', async () => {
  const blobs = createS3Blobs(s3.settings, systemClock)
  const key = newBlobKey()
  s3.objects.set('readme.txt', { bytes: Buffer.from('x'), at: new Date() })
  s3.objects.set(`${s3.settings.folder}/${key}`, { bytes: Buffer.from('x'), at: new Date() })
  s3.objects.set(`${s3.settings.folder} 2/${pathOfKey(key)}`, { bytes: Buffer.from('x'), at: new Date() })
  assert.ok(!(await keysOf(blobs)).includes(key))
})
