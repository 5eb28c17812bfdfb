/** Recognises images and texts by their bytes. SVG is shown as text, because an SVG image could load other addresses. */

const startsWith = (bytes: Uint8Array, start: number[], at = 0) =>
  start.every((byte, index) => bytes[at + index] === byte)
const ascii = (text: string) => [...text].map((character) => character.charCodeAt(0))

/** Returns the media type of an image that every browser can show, or undefined. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  if (startsWith(bytes, [0x89, ...ascii('PNG\r\n'), 0x1a, 0x0a])) return 'image/png'
  if (startsWith(bytes, [0xff, 0xd8, 0xff])) return 'image/jpeg'
  if (startsWith(bytes, ascii('GIF87a')) || startsWith(bytes, ascii('GIF89a'))) return 'image/gif'
  if (startsWith(bytes, ascii('RIFF')) && startsWith(bytes, ascii('WEBP'), 8)) return 'image/webp'
  return undefined
}

/** Returns bytes as text, or undefined if they are not UTF-8. If `isCut` is true, the last character may be incomplete. */
export function textOf(bytes: Uint8Array<ArrayBuffer>, isCut: boolean): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut })
  } catch {
    return undefined
  }
}
