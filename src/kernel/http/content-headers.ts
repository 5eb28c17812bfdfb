/** Parses and writes the headers of downloads and uploads as their RFCs require. Pure functions. */
import type { ByteRange } from '../blobs/blobs.ts'
import { invalidField } from '../errors.ts'

const charactersToEncode = /[^A-Za-z0-9!#$&+.^_`|~-]/gu

/** Writes Content-Disposition (RFC 6266): an ASCII name for all clients, and the real name as in RFC 8187. */
export function contentDisposition(name: string): string {
  const asciiName = name.replace(/[^\x20-\x7e]|["\\%/]/gu, '_')
  // Lone surrogates cannot be encoded.
  const encodedName = name
    .toWellFormed()
    .replace(charactersToEncode, (letter) =>
      [...new TextEncoder().encode(letter)]
        .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
        .join(''),
    )
  return `attachment; filename="${asciiName}"; filename*=UTF-8''${encodedName}`
}

export type RangeResult = 'whole' | 'none' | ByteRange

/**
 * Parses one range of bytes (RFC 9110, 14). Other units, several ranges and invalid values are ignored; the response then has the whole
 * content. Returns `none` if the range is outside of the content.
 */
export function parseRange(header: string | undefined, size: number): RangeResult {
  const [, first = '', last = ''] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header?.trim() ?? '') ?? []
  if (first === '' && last === '') return 'whole'
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'none' : { first: size - length, last: size - 1 }
  }
  const start = Number(first)
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && Number(last) < start) return 'whole'
  return start >= size ? 'none' : { first: start, last: end }
}

/** Parses `Content-Digest: sha-256=:…:` (RFC 9530). Other algorithms are ignored. */
export function parseDigest(headers: Record<string, unknown>): { header: string; sha256: string } | undefined {
  for (const header of ['Content-Digest', 'Repr-Digest']) {
    const value = headers[header.toLowerCase()]
    if (typeof value !== 'string' || !/\bsha-256=/i.test(value)) continue
    const [, text] = /(?:^|[,\s])sha-256=:([A-Za-z0-9+/]{43}=):/i.exec(value) ?? []
    if (text === undefined) throw invalidField(header, 'expected sha-256=:…: with 32 bytes in base64')
    return { header, sha256: Buffer.from(text, 'base64').toString('hex') }
  }
  return undefined
}

/** Rejects an upload of a part of a content (RFC 9110, 14.4), because the part would replace the whole content. */
export function checkWholeContent(headers: Record<string, unknown>) {
  const value = headers['content-range']
  if (value === undefined) return
  const [, last = '', size = ''] = /^bytes 0-(\d+)\/(\d+)$/i.exec(String(value)) ?? []
  if (size === '' || Number(last) + 1 !== Number(size))
    throw invalidField('Content-Range', 'an upload in parts is not supported; send the whole content in one request')
}

export const digestHeader = (checksum: string) => `sha-256=:${Buffer.from(checksum, 'hex').toString('base64')}:`

/** Rejects file names that contain a path, so that a client that saves the file cannot write to another folder. */
export function checkFilename(filename: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are rejected
  if (/[/\\\u0000-\u001f\u007f]/.test(filename) || filename === '.' || filename === '..')
    throw invalidField('filename', 'expected a name without slashes and control characters, other than . and ..')
  return filename
}
