/**
 * Reads and writes the frames of a backup file (README.md describes the format). Frames are written and read in order, so only one frame at
 * a time is in memory.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { type ByteSource, createEncryption, isEncrypted, openEncrypted, type Passphrase } from './encryption.ts'
import { BackupError, damagedError } from './errors.ts'

const formatVersion = 3
const firstLineOf = (version: number) => Buffer.from(`WAYPOST BACKUP ${version}\n`)
const firstLineLength = firstLineOf(formatVersion).length
const headLength = 5
const digestLength = 32
const tagLength = 32
/** Maximum size of a frame. Written frames are smaller. Because of the limit, a damaged length does not cause a huge allocation. */
const frameLengthMax = 64 * 1024 * 1024
/** Frames are written together when they reach this size, because a backup has many small frames: three or more for each stored blob. */
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
export async function createFrameWriter(path: string, passphrase?: Passphrase): Promise<FrameWriter> {
  const encryption = passphrase && (await createEncryption(passphrase))
  const handle = await open(path, 'wx', 0o600)
  const hash = createHash('sha256')
  let buffered: Buffer[] = []
  let bufferedBytes = 0
  const writeFully = async (bytes: Buffer) => {
    for (let offset = 0; offset < bytes.length; ) offset += (await handle.write(bytes, offset)).bytesWritten
  }
  const flush = async () => {
    const bytes = Buffer.concat(buffered)
    buffered = []
    bufferedBytes = 0
    await writeFully(encryption ? encryption.add(bytes) : bytes)
  }
  const append = async (bytes: Buffer) => {
    buffered.push(bytes)
    bufferedBytes += bytes.length
    if (bufferedBytes >= bufferBytes) await flush()
  }
  const writeHashed = async (bytes: Buffer) => {
    hash.update(bytes)
    await append(bytes)
  }
  async function write(type: FrameType, content: Buffer) {
    const head = Buffer.allocUnsafe(headLength)
    head.write(type, 0, 'latin1')
    head.writeUInt32BE(content.length, 1)
    await writeHashed(head)
    await writeHashed(content)
  }
  if (encryption) await writeFully(encryption.header)
  await writeHashed(firstLineOf(formatVersion))
  return {
    write,
    writeJson: (type, value) => write(type, Buffer.from(JSON.stringify(value))),
    async finish(tagOf) {
      const digest = hash.digest()
      await append(digest)
      await append(tagOf(digest))
      await flush()
      if (encryption) await writeFully(encryption.end())
      await handle.sync()
      await handle.close()
    },
    abandon: () => handle.close(),
  }
}

/** The checksum at the end of the file, and the authentication tag of the file. */
export interface Seal {
  digest: Buffer
  tag: Buffer
}

export interface FrameReader {
  next(): Promise<Frame>
  /**
   * Checks that the correct checksum follows, then a tag, and then nothing. Returns checksum and tag as `seal`, with which `authenticate`
   * (authentication.ts) checks the tag. Formats 1 and 2 have no tag. `sha256` is the checksum of the whole unencrypted backup.
   */
  finish(): Promise<{ sha256: string; seal?: Seal }>
  /** Returns the SHA-256 of the bytes read so far. */
  sha256SoFar(): string
  bytes: number
  close(): Promise<void>
}

export async function openFrames(path: string, passphrase?: Passphrase): Promise<FrameReader> {
  const handle = await open(path, 'r')
  try {
    const { size: fileBytes } = await handle.stat()
    const source = await openSource(path, handle, fileBytes, passphrase)
    const { size } = source
    const hash = createHash('sha256')
    let position = 0
    let readAhead: Buffer = Buffer.alloc(0)
    let trailerLength = digestLength
    const read = async (length: number) => {
      if (readAhead.length < length) {
        const more = Buffer.allocUnsafe(Math.min(Math.max(length, bufferBytes), size - position))
        await source.readFully(more, position)
        readAhead = more
      }
      const bytes = readAhead.subarray(0, length)
      readAhead = readAhead.subarray(length)
      position += length
      return bytes
    }
    const readHashed = async (length: number) => {
      if (position + length > size - trailerLength) throw damagedError(path, 'it ends too early')
      const bytes = await read(length)
      hash.update(bytes)
      return bytes
    }
    const firstLine = await readHashed(Math.min(firstLineLength, Math.max(0, size - digestLength)))
    const hasTag = versionOf(path, firstLine) >= 3
    if (hasTag) trailerLength += tagLength
    return {
      bytes: fileBytes,
      async next() {
        const head = await readHashed(headLength)
        const length = head.readUInt32BE(1)
        if (length > frameLengthMax) throw damagedError(path, `the length at byte ${position - 4} is impossible`)
        return { type: head.toString('latin1', 0, 1) as FrameType, content: await readHashed(length) }
      },
      sha256SoFar: () => hash.copy().digest('hex'),
      async finish() {
        if (position !== size - trailerLength) throw damagedError(path, 'it has bytes after its end')
        const trailer = await read(trailerLength)
        const digest = trailer.subarray(0, digestLength)
        const sha256 = hash.copy().update(trailer).digest('hex')
        if (!hash.digest().equals(digest)) throw damagedError(path, 'its checksum does not match its content')
        return { sha256, ...(hasTag && { seal: { digest, tag: trailer.subarray(digestLength) } }) }
      },
      close: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

async function openSource(
  path: string,
  handle: FileHandle,
  size: number,
  passphrase: Passphrase | undefined,
): Promise<ByteSource> {
  const file: ByteSource = { size, readFully: (bytes, position) => readFully(handle, bytes, position) }
  if (!(await isEncrypted(handle))) return file
  if (!passphrase) throw new PassphraseNeeded(path)
  return await openEncrypted(path, file, passphrase)
}

export class PassphraseNeeded extends BackupError {
  constructor(path: string) {
    super(`${path} is encrypted: set WAYPOST_BACKUP_PASSPHRASE, or WAYPOST_BACKUP_PASSPHRASE_FILE to a file with it`)
  }
}

async function readFully(handle: FileHandle, bytes: Buffer, position: number) {
  for (let offset = 0; offset < bytes.length; ) {
    const { bytesRead } = await handle.read(bytes, offset, bytes.length - offset, position + offset)
    if (bytesRead === 0) throw new BackupError('The file became shorter while it was read')
    offset += bytesRead
  }
}

function versionOf(path: string, firstLine: Buffer): number {
  for (let known = 1; known <= formatVersion; known++) if (firstLine.equals(firstLineOf(known))) return known
  const version = firstLine.toString('latin1').match(/^WAYPOST BACKUP (\d+)/)?.[1]
  if (version !== undefined && Number(version) > formatVersion)
    throw new BackupError(`${path} has format ${version}, which this Waypost does not know: a newer version made it`)
  throw new BackupError(`${path} is not a backup of Waypost, or its beginning is damaged`)
}
