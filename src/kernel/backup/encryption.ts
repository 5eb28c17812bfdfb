/**
 * Encrypts the bytes of a backup with a passphrase (README.md). scrypt derives the key. AES-256-GCM authenticates each chunk with its
 * number and a mark of the last chunk. Exchanged, repeated and missing chunks are therefore detected, including missing chunks at the end
 * of the file.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { BackupError, damagedError } from './errors.ts'

export const encryptedLine = Buffer.from('WAYPOST ENCRYPTED 1\n')
const saltLength = 16
const prefixLength = 7
const checkLength = 32
const tagLength = 16
const chunkLength = 64 * 1024
/**
 * The header consists of the first line, the salt, three bytes of scrypt cost, the prefix of the nonces and an HMAC that shows whether the
 * passphrase is right.
 */
const headerLength = encryptedLine.length + saltLength + 3 + prefixLength + checkLength
/** With this cost, scrypt needs 128 MiB and about half a second for each guess. */
const cost = { logN: 17, r: 8, p: 1 }
/** Maximum cost that a header may request. Without it, a crafted header could cause hours of work. */
const costMax = { logN: 20, r: 16, p: 4 }
export const passphraseLengthMin = 12
const chunksMax = 2 ** 32

interface Keys {
  encryption: Buffer
  check: Buffer
}

/** Derives keys from the passphrase. It caches the last keys, because a restore reads its file several times. */
export interface Passphrase {
  keysFor(salt: Buffer, parameters: typeof cost): Promise<Keys>
}

export function createPassphrase(text: string): Passphrase {
  let lastKeys: { id: string; keys: Promise<Keys> } | undefined
  return {
    keysFor(salt, parameters) {
      const id = `${salt.toString('hex')} ${JSON.stringify(parameters)}`
      if (lastKeys?.id !== id) lastKeys = { id, keys: derive(text, salt, parameters) }
      return lastKeys.keys
    },
  }
}

const derive = (text: string, salt: Buffer, { logN, r, p }: typeof cost) =>
  new Promise<Keys>((resolve, reject) => {
    const N = 2 ** logN
    scrypt(text.normalize('NFC'), salt, 64, { N, r, p, maxmem: 256 * N * r }, (error, bytes) =>
      error ? reject(error) : resolve({ encryption: bytes.subarray(0, 32), check: bytes.subarray(32) }),
    )
  })

const checkOf = ({ check }: Keys, header: Buffer) => createHmac('sha256', check).update(header).digest()

function nonceOf(prefix: Buffer, index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  prefix.copy(nonce)
  nonce.writeUInt32BE(index, prefixLength)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

export interface Encryption {
  header: Buffer
  /** Adds bytes, and returns the encrypted chunks that are complete. */
  add(bytes: Buffer): Buffer
  /** Returns the last chunk, which may be empty. */
  end(): Buffer
}

export async function createEncryption(passphrase: Passphrase): Promise<Encryption> {
  const salt = randomBytes(saltLength)
  const prefix = randomBytes(prefixLength)
  const keys = await passphrase.keysFor(salt, cost)
  const start = Buffer.concat([encryptedLine, salt, Buffer.from([cost.logN, cost.r, cost.p]), prefix])
  const header = Buffer.concat([start, checkOf(keys, start)])
  let pending: Buffer = Buffer.alloc(0)
  let index = 0

  function encrypt(chunk: Buffer, isLast: boolean): Buffer {
    if (index >= chunksMax) throw new BackupError('The backup is too large for an encrypted file')
    const cipher = createCipheriv('aes-256-gcm', keys.encryption, nonceOf(prefix, index++, isLast))
    cipher.setAAD(header)
    return Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()])
  }

  return {
    header,
    add(bytes) {
      pending = Buffer.concat([pending, bytes])
      const chunks: Buffer[] = []
      while (pending.length > chunkLength) {
        chunks.push(encrypt(pending.subarray(0, chunkLength), false))
        pending = pending.subarray(chunkLength)
      }
      return Buffer.concat(chunks)
    },
    end: () => encrypt(pending, true),
  }
}

/** The bytes of a backup, whether they are encrypted or not. */
export interface ByteSource {
  size: number
  readFully(bytes: Buffer, position: number): Promise<void>
}

export const isEncrypted = async (handle: FileHandle): Promise<boolean> => {
  const line = Buffer.alloc(encryptedLine.length)
  const { bytesRead } = await handle.read(line, 0, line.length, 0)
  return bytesRead === line.length && line.equals(encryptedLine)
}

async function readHeader(path: string, file: ByteSource, passphrase: Passphrase) {
  if (file.size < headerLength + tagLength) throw damagedError(path, 'it ends too early')
  const header = Buffer.alloc(headerLength)
  await file.readFully(header, 0)
  const salt = header.subarray(encryptedLine.length, encryptedLine.length + saltLength)
  const at = encryptedLine.length + saltLength
  const [logN = 0, r = 0, p = 0] = header.subarray(at, at + 3)
  if (logN < 10 || r < 1 || p < 1 || logN > costMax.logN || r > costMax.r || p > costMax.p)
    throw damagedError(path, 'its header cannot be read')
  const prefix = header.subarray(at + 3, at + 3 + prefixLength)
  const keys = await passphrase.keysFor(salt, { logN, r, p })
  const start = header.subarray(0, headerLength - checkLength)
  if (!timingSafeEqual(checkOf(keys, start), header.subarray(headerLength - checkLength)))
    throw new BackupError(`The passphrase does not open ${path}: it is wrong, or the beginning of the file is damaged`)
  return { header, prefix, keys }
}

/**
 * Opens an encrypted file and returns its decrypted bytes. Read them from start to end: only the last decrypted chunk is kept in memory.
 */
export async function openEncrypted(path: string, file: ByteSource, passphrase: Passphrase): Promise<ByteSource> {
  const { header, prefix, keys } = await readHeader(path, file, passphrase)
  const body = file.size - headerLength
  const chunks = Math.ceil(body / (chunkLength + tagLength))
  const lastLength = body - (chunks - 1) * (chunkLength + tagLength) - tagLength
  if (lastLength < 0 || chunks > chunksMax) throw damagedError(path, 'it ends too early')
  let opened: { index: number; bytes: Buffer } | undefined

  async function chunkAt(index: number): Promise<Buffer> {
    if (opened?.index === index) return opened.bytes
    const isLast = index === chunks - 1
    const sealed = Buffer.alloc((isLast ? lastLength : chunkLength) + tagLength)
    await file.readFully(sealed, headerLength + index * (chunkLength + tagLength))
    const decipher = createDecipheriv('aes-256-gcm', keys.encryption, nonceOf(prefix, index, isLast))
    decipher.setAAD(header)
    decipher.setAuthTag(sealed.subarray(-tagLength))
    try {
      const bytes = Buffer.concat([decipher.update(sealed.subarray(0, -tagLength)), decipher.final()])
      opened = { index, bytes }
      return bytes
    } catch {
      throw damagedError(path, isLast ? 'it was changed, or its end is missing' : 'it was changed')
    }
  }

  // The last chunk is read first: only the last chunk of a file is marked as such, so this detects a file that ends early.
  await chunkAt(chunks - 1)
  return {
    size: (chunks - 1) * chunkLength + lastLength,
    async readFully(bytes, position) {
      for (let offset = 0; offset < bytes.length; ) {
        const at = position + offset
        const chunk = await chunkAt(Math.floor(at / chunkLength))
        offset += chunk.copy(bytes, offset, at % chunkLength)
      }
    },
  }
}
