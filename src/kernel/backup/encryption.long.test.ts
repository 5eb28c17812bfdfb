/** Tests encrypted backups: every changed, exchanged or missing chunk is detected, and a wrong passphrase gives a clear error. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { temporaryDirectory } from '../../../test/harness/database.ts'
import { createPassphrase, encryptedLine } from './encryption.ts'
import { createFrameWriter, openFrames } from './format.ts'

const directory = temporaryDirectory()
const right = createPassphrase('correct horse battery staple')
const content = randomBytes(300_000)
const tag = Buffer.alloc(32, 9)
const chunk = 64 * 1024 + 16
const header = encryptedLine.length + 16 + 3 + 7 + 32
const file = join(directory, 'backup')

before(async () => {
  const writer = await createFrameWriter(file, right)
  await writer.writeJson('H', { name: 'manifest' })
  await writer.write('D', content)
  await writer.finish(() => tag)
})

/** Reads a whole file. */
async function read(path: string, passphrase = right) {
  const frames = await openFrames(path, passphrase)
  try {
    const first = await frames.next()
    const second = await frames.next()
    const { seal } = await frames.finish()
    return { manifest: JSON.parse(first.content.toString()), content: second.content, tag: seal?.tag }
  } finally {
    await frames.close()
  }
}
let copies = 0
function changed(change: (bytes: Buffer) => Buffer): string {
  const path = join(directory, `copy-${++copies}`)
  writeFileSync(path, change(Buffer.from(readFileSync(file))))
  return path
}

const flipped = (offset: number) =>
  changed((bytes) => {
    bytes[offset]! ^= 1
    return bytes
  })
const replaced = (offset: number, value: number) =>
  changed((bytes) => {
    bytes[offset] = value
    return bytes
  })

test('a file can be read with its passphrase, and its bytes do not contain the plain text', async () => {
  const made = await read(file)
  assert.deepEqual([made.manifest, made.tag], [{ name: 'manifest' }, tag])
  assert.ok(made.content.equals(content))
  const raw = readFileSync(file)
  for (const text of ['manifest', 'WAYPOST BACKUP']) assert.ok(!raw.includes(text))
  for (let at = 0; at + 32 <= content.length; at += 10_000) assert.ok(!raw.includes(content.subarray(at, at + 32)))
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const composed = createPassphrase('caf\u00e9 am Abend')
  const path = join(directory, 'accents')
  const writer = await createFrameWriter(path, composed)
  await writer.finish(() => tag)
  await openFrames(path, createPassphrase('cafe\u0301 am Abend')).then((frames) => frames.close())
})

test('two files of the same content have different bytes', async () => {
  const other = join(directory, 'again')
  const writer = await createFrameWriter(other, right)
  await writer.writeJson('H', { name: 'manifest' })
  await writer.write('D', content)
  await writer.finish(() => tag)
  assert.ok(
    !readFileSync(other)
      .subarray(encryptedLine.length)
      .includes(readFileSync(file).subarray(header, header + 32)),
  )
})

test('a wrong or missing passphrase is reported in a clear sentence', async () => {
  await assert.rejects(
    read(file, createPassphrase('correct horse battery stable')),
    /The passphrase does not open .*: it is wrong/,
  )
  await assert.rejects(read(file, createPassphrase('')), /The passphrase does not open/)
  await assert.rejects(openFrames(file), /is encrypted: set WAYPOST_BACKUP_PASSPHRASE/)
})

suite('a damaged file', () => {
  test('a damaged file that ends early is detected, wherever it ends', async () => {
    const size = statSync(file).size
    const ends = [
      0,
      10,
      encryptedLine.length,
      header - 1,
      header,
      header + 15,
      header + 16,
      header + chunk,
      header + 2 * chunk,
    ]
    for (const end of [...ends, header + 2 * chunk + 5, size - 17, size - 16, size - 1]) {
      const path = join(directory, `short-${end}`)
      copyFileSync(file, path)
      truncateSync(path, end)
      await assert.rejects(read(path), /damaged|not a backup/, `${end} of ${size}`)
    }
    await assert.rejects(read(changed((bytes) => Buffer.concat([bytes, Buffer.alloc(1)]))), /damaged/)
    await assert.rejects(read(changed((bytes) => Buffer.concat([bytes, bytes.subarray(-chunk)]))), /damaged/)
  })

  test('a damaged file with one changed bit is detected, wherever the bit is', async () => {
    const size = statSync(file).size
    const offsets = [
      header,
      header + 5,
      header + chunk - 1,
      header + chunk,
      header + 3 * chunk + 7,
      size - 17,
      size - 1,
    ]
    for (const offset of offsets)
      await assert.rejects(read(flipped(offset)), /is damaged: it was changed/, String(offset))
    for (const offset of [encryptedLine.length, header - 40, header - 1])
      await assert.rejects(read(flipped(offset)), /passphrase|header/, String(offset))
  })

  test('a damaged file with exchanged, repeated or missing chunks is detected', async () => {
    const at = (index: number) => header + index * chunk
    const piece = (bytes: Buffer, index: number) => bytes.subarray(at(index), at(index + 1))
    const swapped = changed((bytes) => {
      const [first, second] = [Buffer.from(piece(bytes, 0)), Buffer.from(piece(bytes, 1))]
      second.copy(bytes, at(0))
      first.copy(bytes, at(1))
      return bytes
    })
    const repeated = changed((bytes) => {
      piece(bytes, 0).copy(bytes, at(1))
      return bytes
    })
    const missing = changed((bytes) => Buffer.concat([bytes.subarray(0, at(1)), bytes.subarray(at(2))]))
    for (const path of [swapped, repeated, missing]) await assert.rejects(read(path), /is damaged/)
  })

  test('a damaged file whose header requests too much work is rejected before the work starts', async () => {
    const cost = encryptedLine.length + 16
    for (const [offset, value] of [
      [cost, 63],
      [cost, 0],
      [cost + 1, 255],
      [cost + 2, 0],
    ] as const)
      await assert.rejects(read(replaced(offset, value)), /header cannot be read/)
  })
})
