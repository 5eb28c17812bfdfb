/**
 * A growing buffer of UTF-8 text. Writing numbers and times into it takes a third of the time that strings take (bench
 * `time-series`).
 */

export interface TextBuffer {
  bytes: Buffer
  length: number
}

export const createTextBuffer = (size = 128 * 1024): TextBuffer => ({ bytes: Buffer.allocUnsafe(size), length: 0 })

export function reserve(text: TextBuffer, more: number) {
  if (text.length + more <= text.bytes.length) return
  const bytes = Buffer.allocUnsafe(Math.max(text.bytes.length * 2, text.length + more))
  text.bytes.copy(bytes, 0, 0, text.length)
  text.bytes = bytes
}

export function put(text: TextBuffer, part: string) {
  reserve(text, part.length * 3)
  text.length += text.bytes.write(part, text.length)
}

/** Returns a copy of the text and empties the buffer. */
export function takeText(text: TextBuffer): Buffer {
  const copy = Buffer.from(text.bytes.subarray(0, text.length))
  text.length = 0
  return copy
}

export const dayMs = 86_400_000

/** Writes the digits of a time of day into a copy of `2026-01-02T00:00:00.000Z`, in place of the zeros. */
export function putTimeOfDay(bytes: Buffer, at: number, ms: number) {
  const seconds = (ms / 1000) | 0
  const minutes = (seconds / 60) | 0
  const hours = (minutes / 60) | 0
  const second = seconds - minutes * 60
  const minute = minutes - hours * 60
  const rest = ms - seconds * 1000
  bytes[at] = 0x30 + ((hours / 10) | 0)
  bytes[at + 1] = 0x30 + (hours % 10)
  bytes[at + 3] = 0x30 + ((minute / 10) | 0)
  bytes[at + 4] = 0x30 + (minute % 10)
  bytes[at + 6] = 0x30 + ((second / 10) | 0)
  bytes[at + 7] = 0x30 + (second % 10)
  bytes[at + 9] = 0x30 + ((rest / 100) | 0)
  bytes[at + 10] = 0x30 + (((rest / 10) | 0) % 10)
  bytes[at + 11] = 0x30 + (rest % 10)
}

const integerMax = 1e9

/**
 * Writes a number. Numbers with up to three decimals are formatted here, which takes a fifth of the time of `String` and gives the same
 * result.
 */
export function putNumber(text: TextBuffer, number: number) {
  let [power, scaled] = [1, number]
  if (!Number.isInteger(number)) {
    power = 100
    scaled = Math.round(number * 100)
    if (scaled / 100 !== number) {
      power = 1000
      scaled = Math.round(number * 1000)
    }
  }
  const { bytes } = text
  let offset = text.length
  // Up to 15 digits, the digits of `scaled` are the shortest text of the number. As with `JSON.stringify`, -0 becomes 0.
  if (scaled / power !== number || scaled > integerMax || scaled < -integerMax) {
    const digits = String(number)
    for (let index = 0; index < digits.length; index++) bytes[offset++] = digits.charCodeAt(index)
    text.length = offset
    return
  }
  if (scaled < 0) {
    bytes[offset++] = 0x2d
    scaled = -scaled
  }
  while (power > 1 && scaled % 10 === 0) {
    scaled /= 10
    power /= 10
  }
  const integerPart = (scaled / power) | 0
  offset = putInteger(bytes, offset, integerPart)
  if (power > 1) {
    bytes[offset++] = 0x2e
    let fraction = scaled - integerPart * power
    for (let unit = power / 10; unit >= 1; unit /= 10) {
      const digit = (fraction / unit) | 0
      bytes[offset++] = 0x30 + digit
      fraction -= digit * unit
    }
  }
  text.length = offset
}

function putInteger(bytes: Buffer, at: number, integer: number): number {
  let digits = 1
  for (let limit = 10; integer >= limit; limit *= 10) digits++
  let remaining = integer
  for (let index = at + digits - 1; index >= at; index--) {
    const next = (remaining / 10) | 0
    bytes[index] = 0x30 + (remaining - next * 10)
    remaining = next
  }
  return at + digits
}
