/** Parses and writes the headers of downloads and uploads as their RFCs require. Pure functions. */
import type { ByteRange } from '../blobs/blobs.ts'
import { invalidField } from '../errors.ts'

const outsideAttributes = /[^A-Za-z0-9!#$&+.^_`|~-]/gu

/** Writes Content-Disposition (RFC 6266): an ASCII name for all clients, and the real name as in RFC 8187. */
export function attachment(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%/]/gu, '_')
  // Lone surrogates cannot be encoded.
  const real = name
    .toWellFormed()
    .replace(outsideAttributes, (letter) =>
      [...new TextEncoder().encode(letter)]
        .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
        .join(''),
    )
  return `attachment; filename="${plain}"; filename*=UTF-8''${real}`
}

export type RangeAnswer = 'whole' | 'none' | ByteRange

/**
 * Parses one range of bytes (RFC 9110, 14). Other units, several ranges and invalid values are ignored, and the response has
 * the whole content. Returns `none` if the range lies outside.
 */
export function rangeOf(header: string | undefined, size: number): RangeAnswer {
  const [, first = '', last = ''] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header?.trim() ?? '') ?? []
  if (first === '' && last === '') return 'whole'
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'none' : { first: size - length, last: size - 1 }
  }
  const begin = Number(first)
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && Number(last) < begin) return 'whole'
  return begin >= size ? 'none' : { first: begin, last: end }
}

/** Parses `Content-Digest: sha-256=:…:` (RFC 9530). Other algorithms are ignored. */
export function digestOf(headers: Record<string, unknown>): { header: string; sha256: string } | undefined {
  for (const header of ['Content-Digest', 'Repr-Digest']) {
    const value = headers[header.toLowerCase()]
    if (typeof value !== 'string' || !/\bsha-256=/i.test(value)) continue
    const [, text] = /(?:^|[,\s])sha-256=:([A-Za-z0-9+/]{43}=):/i.exec(value) ?? []
    if (text === undefined) throw invalidField(header, 'expected sha-256=:…: with 32 bytes in base64')
    return { header, sha256: Buffer.from(text, 'base64').toString('hex') }
  }
  return undefined
}

export const digestHeader = (checksum: string) => `sha-256=:${Buffer.from(checksum, 'hex').toString('base64')}:`

/** Rejects paths, so that a client that saves the file cannot write to another folder. */
export function checkFilename(filename: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are rejected
  if (/[/\\\u0000-\u001f\u007f]/.test(filename) || filename === '.' || filename === '..')
    throw invalidField('filename', 'expected a name without slashes and control characters, other than . and ..')
  return filename
}
