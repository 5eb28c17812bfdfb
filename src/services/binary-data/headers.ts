/** Headers of downloads and uploads, read and written to the letter of their standards. Pure. */
import type { ByteRange } from '../../kernel/blobs/blobs.ts'
import { invalidField } from '../../kernel/errors.ts'

const outsideAttributes = /[^A-Za-z0-9!#$&+.^_`|~-]/gu

/** RFC 6266: a name for everybody, and the real one in the way of RFC 8187. */
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
 * RFC 9110, 14: one range of bytes. What is not one (another unit, several ranges, nonsense) may be passed over and gets the
 * whole; `none`: it lies outside.
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

/** `Content-Digest: sha-256=:…:` (RFC 9530); other algorithms are not ours to check. */
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
