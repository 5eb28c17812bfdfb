/** SHA-256 for pages without `crypto.subtle` (browsers offer it only over HTTPS and on loopback), and for content that arrives in parts. */

const roundConstants = new Uint32Array(64)
const initialState = new Uint32Array(8)

/** Computes the constants: the fractional parts of the roots of primes (FIPS 180-4, 4.2.2 and 5.3.3). */
function fillConstants() {
  const fraction = (value: number) => Math.floor((value - Math.floor(value)) * 2 ** 32) >>> 0
  let count = 0
  for (let number = 2; count < 64; number++) {
    let isPrime = true
    for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) isPrime = false
    if (!isPrime) continue
    if (count < 8) initialState[count] = fraction(Math.sqrt(number))
    roundConstants[count++] = fraction(Math.cbrt(number))
  }
}

const rotate = (value: number, bits: number) => (value >>> bits) | (value << (32 - bits))

function mix(state: Uint32Array, words: Uint32Array) {
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number]
  for (let round = 0; round < 64; round++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + roundConstants[round]! + words[round]!) | 0
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  state[0] = state[0]! + a
  state[1] = state[1]! + b
  state[2] = state[2]! + c
  state[3] = state[3]! + d
  state[4] = state[4]! + e
  state[5] = state[5]! + f
  state[6] = state[6]! + g
  state[7] = state[7]! + h
}

const blockBytes = 64

/** A digest of content that arrives in parts. */
export interface Hash {
  add(bytes: Uint8Array): void
  /** Returns the digest; nothing can be added afterwards. */
  end(): Uint8Array
}

export function createHash(): Hash {
  if (roundConstants[0] === 0) fillConstants()
  const state = initialState.slice()
  const words = new Uint32Array(64)
  const rest = new Uint8Array(blockBytes)
  let restLength = 0
  let total = 0

  function addBlock(view: DataView, offset: number) {
    for (let index = 0; index < 16; index++) words[index] = view.getUint32(offset + index * 4)
    for (let index = 16; index < 64; index++) {
      const [w15, w2] = [words[index - 15]!, words[index - 2]!]
      const s0 = rotate(w15, 7) ^ rotate(w15, 18) ^ (w15 >>> 3)
      const s1 = rotate(w2, 17) ^ rotate(w2, 19) ^ (w2 >>> 10)
      words[index] = (words[index - 16]! + s0 + words[index - 7]! + s1) | 0
    }
    mix(state, words)
  }

  function add(bytes: Uint8Array) {
    total += bytes.length
    let from = 0
    if (restLength > 0) {
      from = Math.min(blockBytes - restLength, bytes.length)
      rest.set(bytes.subarray(0, from), restLength)
      restLength += from
      if (restLength < blockBytes) return
      addBlock(new DataView(rest.buffer), 0)
      restLength = 0
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (; from + blockBytes <= bytes.length; from += blockBytes) addBlock(view, from)
    rest.set(bytes.subarray(from))
    restLength = bytes.length - from
  }

  function end() {
    const bits = total * 8
    const tail = new DataView(new ArrayBuffer(restLength < 56 ? blockBytes - restLength : 2 * blockBytes - restLength))
    tail.setUint8(0, 0x80)
    tail.setUint32(tail.byteLength - 8, Math.floor(bits / 2 ** 32))
    tail.setUint32(tail.byteLength - 4, bits % 2 ** 32)
    add(new Uint8Array(tail.buffer))
    const digest = new DataView(new ArrayBuffer(32))
    for (const [index, value] of state.entries()) digest.setUint32(index * 4, value)
    return new Uint8Array(digest.buffer)
  }
  return { add, end }
}

/** Returns the digest of a text in UTF-8. */
export async function sha256(text: string): Promise<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  if (globalThis.crypto?.subtle) return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  const hash = createHash()
  hash.add(bytes)
  return hash.end()
}

/** Up to this size, a file is read as a whole and hashed by `crypto.subtle`, which is faster. */
const wholeBytesMax = 64 * 1024 * 1024
const partBytes = 2 * 1024 * 1024

/** Returns the digest of a file, and reports how many bytes were read. Large files are read part by part. */
export async function sha256OfFile(file: Blob, onProgress: (bytes: number) => void, signal: AbortSignal) {
  if (globalThis.crypto?.subtle && file.size <= wholeBytesMax) {
    const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer())
    signal.throwIfAborted()
    return new Uint8Array(digest)
  }
  const hash = createHash()
  for (let from = 0; from < file.size; from += partBytes) {
    hash.add(new Uint8Array(await file.slice(from, from + partBytes).arrayBuffer()))
    signal.throwIfAborted()
    onProgress(Math.min(file.size, from + partBytes))
  }
  return hash.end()
}
