/** JSON bodies of up to one mebibyte that are expensive to parse, to validate or to serialize. */

export const mebibyte = 1024 * 1024

/** Returns a body with at most `itemsMax` items; by default with as many items as fit into a mebibyte. */
type Make = (itemsMax?: number) => Buffer

/** Builds the largest list once; smaller lists are prefixes of it. */
function listOf(item: (n: number) => string, open = '[', close = ']'): Make {
  let largest: { content: Buffer; ends: number[] } | undefined
  const fill = () => {
    const parts: string[] = []
    const ends = [open.length]
    for (let n = 0; ; n++) {
      const part = n === 0 ? item(n) : `,${item(n)}`
      const end = ends[n]! + Buffer.byteLength(part)
      if (end + close.length > mebibyte) break
      parts.push(part)
      ends.push(end)
    }
    return { content: Buffer.from(open + parts.join('')), ends }
  }
  return (itemsMax = Number.POSITIVE_INFINITY) => {
    largest ??= fill()
    const end = largest.ends[Math.min(itemsMax, largest.ends.length - 1)]
    return Buffer.concat([largest.content.subarray(0, end), Buffer.from(close)])
  }
}
const objectOf = (item: (n: number) => string) => listOf(item, '{', '}')
const name = (n: number) => n.toString(36)

/** Returns one value that repeats a part `itemsMax` times; by default as often as fits into a mebibyte. */
const repeated =
  (open: string, part: string, close: string): Make =>
  (itemsMax = Number.POSITIVE_INFINITY) => {
    const room = mebibyte - Buffer.byteLength(open + close)
    const count = Math.min(itemsMax, Math.floor(room / Buffer.byteLength(part)))
    return Buffer.from(open + part.repeat(count) + close)
  }

/** Appends one item to a list. Drops items before it, so that the list stays within the size limit. */
const withLastItem =
  (make: Make, wrong: string): Make =>
  (itemsMax) => {
    const body = make(itemsMax)
    const room = Buffer.byteLength(wrong) + 1
    const kept = body.subarray(0, Math.min(body.length - 1, mebibyte - room - 1))
    const end = Math.max(kept.lastIndexOf(','), 1)
    const separator = end > 1 ? ',' : ''
    return Buffer.concat([kept.subarray(0, end), Buffer.from(`${separator}${wrong}]`)])
  }

const numbers = listOf(() => '1')
const texts = listOf((n) => `"${name(n)}"`)

export const hostileBodies: Record<string, Make> = {
  'numbers of 15 digits': listOf(() => '0.12345678901234'),
  'integers of 16 digits': listOf(() => '9007199254740991'),
  'integers of 16 digits above 2^53': listOf(() => '9007199254740994'),
  'integers of 17 digits that a double rounds': listOf(() => '37866065945450410'),
  'integers of 23 digits': listOf(() => '10000000000000000000000'),
  'one integer of 16 digits and many integers of one digit': listOf((n) => (n === 0 ? '9007199254740991' : '1')),
  'numbers of one digit': numbers,
  'numbers just below infinity': listOf(() => '1e308'),
  'numbers beyond infinity': listOf(() => '1e400'),
  'numbers with long fractions': listOf(() => '0.1234567890123456789'),
  'numbers between two doubles': listOf(() => `9007199254740993.${'0'.repeat(750)}1`),
  'a number of a million digits': repeated('[', '9', ']'),
  'true and false': listOf((n) => (n % 2 ? 'true' : 'false')),
  'one text that consists of escapes': repeated('"', '\\u0041', '"'),
  'texts with one escape each': listOf(() => '"\\u0041"'),
  'surrogate pairs': listOf(() => '"\\ud83d\\ude00"'),
  'a long text': repeated('"', 'x', '"'),
  'a long text that consists of quotes': repeated('"', '\\"', '"'),
  'a long text of two-byte characters': repeated('"', 'é', '"'),
  'empty texts': listOf(() => '""'),
  'short texts': texts,
  'long texts': listOf((n) => `"a text of some length ${name(n)}"`),
  'empty arrays': listOf(() => '[]'),
  'empty objects': listOf(() => '{}'),
  'deeply nested arrays': listOf(() => '['.repeat(60) + ']'.repeat(60)),
  'deeply nested objects': listOf(() => `${'{"a":'.repeat(60)}1${'}'.repeat(60)}`),
  'deeply nested objects, each with a new name': listOf((n) => `${`{"${name(n)}":`.repeat(50)}1${'}'.repeat(50)}`),
  'an object with short names': objectOf((n) => `"${name(n)}":1`),
  'an object with long names': objectOf((n) => `"a-name-number-${n}":1`),
  'an object whose names are indexes': objectOf((n) => `"${n}":1`),
  'an object whose names are scattered indexes': objectOf((n) => `"${(n * 7919) % 4294967295}":1`),
  'an object that repeats one name': objectOf(() => '"a":1'),
  'objects of the same shape': listOf(() => '{"a":1}'),
  'objects that each have a new name': listOf((n) => `{"${name(n)}":1}`),
  'objects with the same few names in many combinations': listOf(
    (n) => `{"${name(n % 264)}":1,"${name((n / 264) | 0)}z":2}`,
  ),
  'names with escapes': objectOf((n) => `"\\u0041${name(n)}":1`),
  samples: listOf((n) => `{"timestamp":${1_700_000_000_000 + n},"values":{"temperature":${n % 50},"humidity":40.5}}`),
  spaces: repeated('[', ' ', '1]'),
  'a wrong number at the end': withLastItem(numbers, '1e400'),
  'NUL at the end': withLastItem(texts, '"\\u0000"'),
  'a lone surrogate at the end': withLastItem(numbers, '"\\ud800"'),
  'a key __proto__ at the end': withLastItem(
    listOf(() => '[]'),
    '{"__proto__":1}',
  ),
  'malformed JSON at the end': withLastItem(numbers, 'x'),
  'invalid UTF-8': () =>
    Buffer.concat([Buffer.from(`["${'x'.repeat(mebibyte - 6)}`), Buffer.from([0xff]), Buffer.from('"]')]),
  'an inexact integer and a missing bracket': repeated('[12345678901234567890', ',1', ''),
}

/**
 * Searches for the largest accepted body, because this body is the most expensive. The search stops when the result is at most 1/16
 * smaller than the largest accepted body.
 */
export function largestAccepted(make: Make, accepts: (body: Buffer) => boolean): Buffer {
  const whole = make()
  if (accepts(whole)) return whole
  let [low, high] = [0, 1000]
  for (; high < mebibyte && accepts(make(high)); high *= 2) low = high
  while (high - low > Math.max(1, high / 16)) {
    const middle = (low + high) >> 1
    if (accepts(make(middle))) low = middle
    else high = middle
  }
  return make(low)
}
