/**
 * Reads and writes the frames of a backup file; README.md describes the format. A file is written and read once from start to
 * end, so neither side holds more than one frame in memory.
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
/** Far above any frame that we write; it keeps a damaged length from causing a huge allocation. */
const frameLengthMax = 64 * 1024 * 1024
/** Small frames are buffered up to this size, because each content has three of them. */
const bufferBytes = 256 * 1024

export type FrameType = 'H' | 'T' | 'D' | 'E' | 'C' | 'M' | 'Z'
export interface Frame {
  type: FrameType
  content: Buffer
}

export interface FrameWriter {
  write(type: FrameType, content: Buffer): Promise<void>
  writeJson(type: FrameType, value: object): Promise<void>
  /** Appends the checksum and the tag; resolves when the whole file is on disk. */
  finish(tagOf: (digest: Buffer) => Buffer): Promise<void>
  abandon(): Promise<void>
}

/** Creates a file that only its owner can read. Fails if a file or a symbolic link with this path exists. */
export async function createFrameWriter(path: string): Promise<FrameWriter> {
  const handle = await open(path, 'wx', 0o600)
  const hash = createHash('sha256')
  let buffered: Buffer[] = []
  let bufferedBytes = 0
  const flush = async () => {
    const bytes = Buffer.concat(buffered)
    buffered = []
    bufferedBytes = 0
    for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten
  }
  const put = async (bytes: Buffer) => {
    buffered.push(bytes)
    bufferedBytes += bytes.length
    if (bufferedBytes >= bufferBytes) await flush()
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

/** The checksum at the end of the file and its tag. */
export interface Seal {
  digest: Buffer
  tag: Buffer
}

export interface FrameReader {
  next(): Promise<Frame>
  /**
   * Checks that only the right checksum and a tag follow; the tag itself is checked by `authenticate`. `sha256` is that of the
   * whole file, as `sha256sum` prints it. Formats without a tag have no seal.
   */
  finish(): Promise<{ sha256: string; seal?: Seal }>
  /** Returns the SHA-256 of the bytes read so far. */
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
        const more = Buffer.allocUnsafe(Math.min(Math.max(length, bufferBytes), size - position))
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
        if (position !== size - trailerLength) throw damaged(path, 'it continues after its end')
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
    throw new BackupError(`${path} has format ${version}, which this Waypost does not know: a newer version made it`)
  throw new BackupError(`${path} is not a backup of Waypost, or its beginning is damaged`)
}

export const damaged = (path: string, how: string) =>
  new BackupError(`${path} is damaged: ${how}. Nothing was changed; use another copy`)
