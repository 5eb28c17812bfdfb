/**
 * The file of a backup: a line that names it, frames (a letter, a length, that many bytes), at its end the SHA-256 of everything
 * before, and a tag that says who made it (authentication.ts). Written and read once from front to back, so that neither side
 * ever holds more than one frame.
 *
 *     H  the manifest (JSON)
 *     T  a table begins (JSON: its place in the manifest)   D … its rows, compressed   E  it ends (JSON: rows, bytes, SHA-256)
 *     C  a content begins (JSON: key, size and SHA-256 as its row has them)   D … its bytes as they are   E  it ends (JSON)
 *     M  a content that a row names and the blob store does not have (JSON: key)
 *     Z  the end (JSON: totals)
 *
 * Formats 1 (without contents) and 2 (with contents after the tables) have no tag; they are read, but no longer written. Contents
 * are not compressed: most are images, archives and firmware, which it would only make slower.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'

export class BackupError extends Error {
  override readonly name = 'BackupError'
}

const formatVersion = 3
const lineOf = (version: number) => Buffer.from(`WAYPOST BACKUP ${version}\n`)
const lineLength = lineOf(formatVersion).length
const headLength = 5
const digestLength = 32
const tagLength = 32
/** No frame that we write comes near; a damaged length must not become a huge allocation. */
const frameLengthMax = 64 * 1024 * 1024
/** Small frames are written and read together: there are three for each content. */
const togetherBytes = 256 * 1024

export type FrameType = 'H' | 'T' | 'D' | 'E' | 'C' | 'M' | 'Z'
export interface Frame {
  type: FrameType
  content: Buffer
}

export interface FrameWriter {
  write(type: FrameType, content: Buffer): Promise<void>
  writeJson(type: FrameType, value: object): Promise<void>
  /** Appends the checksum and its tag, and returns when all of it is on the disk. */
  finish(tagOf: (digest: Buffer) => Buffer): Promise<void>
  abandon(): Promise<void>
}

/** Closed to everybody else from its first byte on; never into a file, or through a link, that is already there. */
export async function createFrameWriter(path: string): Promise<FrameWriter> {
  const handle = await open(path, 'wx', 0o600)
  const hash = createHash('sha256')
  let waiting: Buffer[] = []
  let waitingBytes = 0
  const flush = async () => {
    const bytes = Buffer.concat(waiting)
    waiting = []
    waitingBytes = 0
    for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten
  }
  const put = async (bytes: Buffer) => {
    waiting.push(bytes)
    waitingBytes += bytes.length
    if (waitingBytes >= togetherBytes) await flush()
  }
  const add = async (bytes: Buffer) => {
    hash.update(bytes)
    await put(bytes)
  }
  async function write(type: FrameType, content: Buffer) {
    const head = Buffer.allocUnsafe(headLength)
    head.write(type, 0, 'latin1')
    head.writeUInt32BE(content.length, 1)
    await add(head)
    await add(content)
  }
  await add(lineOf(formatVersion))
  return {
    write,
    writeJson: (type, value) => write(type, Buffer.from(JSON.stringify(value))),
    async finish(tagOf) {
      const digest = hash.digest()
      await put(digest)
      await put(tagOf(digest))
      await flush()
      await handle.sync()
      await handle.close()
    },
    abandon: () => handle.close(),
  }
}

/** The checksum at the end of the file and the tag over it. */
export interface Seal {
  digest: Buffer
  tag: Buffer
}

export interface FrameReader {
  next(): Promise<Frame>
  /**
   * Nothing may follow but the right checksum and a tag, which is not looked at. `sha256` is that of the whole file, as
   * `sha256sum` prints it; there is no seal where the format has no tag.
   */
  finish(): Promise<{ sha256: string; seal?: Seal }>
  /** Of everything that was read until now. */
  sha256SoFar(): string
  bytes: number
  close(): Promise<void>
}

export async function openFrames(path: string): Promise<FrameReader> {
  const handle = await open(path, 'r')
  try {
    const { size } = await handle.stat()
    const hash = createHash('sha256')
    let position = 0
    let ahead: Buffer = Buffer.alloc(0)
    let trailerLength = digestLength
    const take = async (length: number) => {
      if (ahead.length < length) {
        const more = Buffer.allocUnsafe(Math.min(Math.max(length, togetherBytes), size - position))
        await readFully(handle, more, position)
        ahead = more
      }
      const bytes = ahead.subarray(0, length)
      ahead = ahead.subarray(length)
      position += length
      return bytes
    }
    const takeHashed = async (length: number) => {
      if (position + length > size - trailerLength) throw damaged(path, 'it ends too early')
      const bytes = await take(length)
      hash.update(bytes)
      return bytes
    }
    const begin = await takeHashed(Math.min(lineLength, Math.max(0, size - digestLength)))
    const hasTag = versionOf(path, begin) >= 3
    if (hasTag) trailerLength += tagLength
    return {
      bytes: size,
      async next() {
        const head = await takeHashed(headLength)
        const length = head.readUInt32BE(1)
        if (length > frameLengthMax) throw damaged(path, `the length at byte ${position - 4} is impossible`)
        return { type: head.toString('latin1', 0, 1) as FrameType, content: await takeHashed(length) }
      },
      sha256SoFar: () => hash.copy().digest('hex'),
      async finish() {
        if (position !== size - trailerLength) throw damaged(path, 'something follows its end')
        const trailer = await take(trailerLength)
        const digest = trailer.subarray(0, digestLength)
        const sha256 = hash.copy().update(trailer).digest('hex')
        if (!hash.digest().equals(digest)) throw damaged(path, 'its checksum does not match its content')
        return { sha256, ...(hasTag && { seal: { digest, tag: trailer.subarray(digestLength) } }) }
      },
      close: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

async function readFully(handle: FileHandle, bytes: Buffer, position: number) {
  for (let at = 0; at < bytes.length; ) {
    const { bytesRead } = await handle.read(bytes, at, bytes.length - at, position + at)
    if (bytesRead === 0) throw new BackupError('The file became shorter while it was read')
    at += bytesRead
  }
}

function versionOf(path: string, begin: Buffer): number {
  for (let known = 1; known <= formatVersion; known++) if (begin.equals(lineOf(known))) return known
  const version = begin.toString('latin1').match(/^WAYPOST BACKUP (\d+)/)?.[1]
  if (version !== undefined && Number(version) > formatVersion)
    throw new BackupError(`${path} has format ${version}, which this Waypost does not know: it was made by a newer one`)
  throw new BackupError(`${path} is not a backup of Waypost, or its beginning is damaged`)
}

export const damaged = (path: string, how: string) =>
  new BackupError(`${path} is damaged: ${how}. Nothing was changed; use another copy`)
