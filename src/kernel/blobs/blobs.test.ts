/** Both stores keep the same promises: one table of tests for files, S3, and a real S3 where there is one. */
import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { throwAwayDirectory } from '../../../test/harness/database.ts'
import { openS3, realS3 } from '../../../test/harness/s3.ts'
import { systemClock } from '../clock.ts'
import { type Blobs, newBlobKey, pathOfKey } from './blobs.ts'
import { createFileBlobs } from './files.ts'
import { createS3Blobs } from './s3.ts'

const real = realS3()
const s3 = await openS3()
const stores: [string, Blobs][] = [
  ['files', createFileBlobs(throwAwayDirectory())],
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
const of = async function* (...texts: string[]) {
  for (const one of texts) yield Buffer.from(one)
}
const keysOf = async (blobs: Blobs) => (await Array.fromAsync(blobs.keys())).map(({ key }) => key)

for (const [name, blobs] of stores)
  describe(name, () => {
    test('what was written is read, whole and in parts', async () => {
      const key = newBlobKey()
      await blobs.write(key, of('012', '', '3456', '789'))
      assert.equal(await text(blobs, key), '0123456789')
      assert.equal(await text(blobs, key, { first: 2, last: 4 }), '234')
      assert.equal(await text(blobs, key, { first: 9, last: 9 }), '9')
    })

    test('nothing at all is a content too', async () => {
      const key = newBlobKey()
      await blobs.write(key, of())
      assert.equal(await text(blobs, key), '')
      await blobs.remove(key)
    })

    test('large contents, on and beside the borders of parts', async () => {
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

    test('what is not there reads as undefined and is removed in peace', async () => {
      const key = newBlobKey()
      assert.equal(await blobs.read(key), undefined)
      await blobs.remove(key)
    })

    test('a write that fails in the middle cannot be read, and remove takes what it left', async () => {
      for (const count of [2, 11]) {
        const key = newBlobKey()
        async function* failing() {
          yield* pieces(count)
          throw new Error('the sender is gone')
        }
        await assert.rejects(blobs.write(key, failing()), /the sender is gone/)
        assert.equal(await blobs.read(key), undefined)
        await blobs.remove(key)
        assert.ok(!(await keysOf(blobs)).includes(key))
      }
      assert.equal(s3.unfinished.size, 0)
    })

    test('removed is gone, and who had it open reads to its end', async () => {
      const key = newBlobKey()
      await blobs.write(key, of('kept open'))
      const open = (await blobs.read(key))!
      await blobs.remove(key)
      assert.equal((await buffer(open)).toString(), 'kept open')
      assert.equal(await blobs.read(key), undefined)
    })

    test('keys are listed with their age, many of them', async () => {
      const made = new Set(Array.from({ length: 120 }, newBlobKey))
      await Promise.all([...made].map((key) => blobs.write(key, of('x'))))
      const found = await Array.fromAsync(blobs.keys())
      for (const key of made) assert.ok(found.some((one) => one.key === key))
      assert.ok(found.every(({ changedAt }) => Math.abs(changedAt.getTime() - Date.now()) < 600_000))
      for (const key of made) await blobs.remove(key)
      assert.ok(!(await keysOf(blobs)).some((key) => made.has(key)))
    })

    test('a key that is none is refused before anything is touched', async () => {
      for (const key of ['../../etc/passwd', 'x', '', 'A'.repeat(32), `${newBlobKey()}/x`])
        await assert.rejects(async () => await blobs.read(key), /no key of a blob/)
    })
  })

test('S3: trouble that passes is tried again, trouble that stays is told', async () => {
  const blobs = createS3Blobs(s3.settings, systemClock)
  const key = newBlobKey()
  let left = 2
  s3.trouble = () => (left-- > 0 ? (left === 1 ? 503 : 'reset') : undefined)
  await blobs.write(key, of('in the end'))
  assert.equal(await text(blobs, key), 'in the end')
  s3.trouble = () => 500
  await assert.rejects(blobs.read(key), /answered 500 to GET .*InternalError/)
  s3.trouble = () => undefined
  const stranger = createS3Blobs({ ...s3.settings, secretKey: 'wrong' }, systemClock)
  await assert.rejects(stranger.read(key), /answered 403 .*SignatureDoesNotMatch/)
  await assert.rejects(stranger.write(newBlobKey(), of('x')), /SignatureDoesNotMatch/)
})

test('S3: whatever else lies in the bucket is left alone', async () => {
  const blobs = createS3Blobs(s3.settings, systemClock)
  const key = newBlobKey()
  s3.objects.set('readme.txt', { bytes: Buffer.from('x'), at: new Date() })
  s3.objects.set(`${s3.settings.folder}/${key}`, { bytes: Buffer.from('x'), at: new Date() })
  s3.objects.set(`${s3.settings.folder} 2/${pathOfKey(key)}`, { bytes: Buffer.from('x'), at: new Date() })
  assert.ok(!(await keysOf(blobs)).includes(key))
})
