/** SHA-256 for pages without `crypto.subtle`: browsers offer it only over HTTPS and on loopback. */

const roundConstants = new Uint32Array(64)
const initialState = new Uint32Array(8)

/** The constants are the fractions of the roots of primes (FIPS 180-4, 4.2.2 and 5.3.3). */
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

function padded(bytes: Uint8Array): DataView {
  const length = Math.ceil((bytes.length + 9) / 64) * 64
  const view = new DataView(new ArrayBuffer(length))
  new Uint8Array(view.buffer).set(bytes)
  view.setUint8(bytes.length, 0x80)
  view.setUint32(length - 4, bytes.length * 8)
  return view
}

function mix(state: Uint32Array, words: Uint32Array) {
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number]
  for (let round = 0; round < 64; round++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + roundConstants[round]! + words[round]!) | 0
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0]
  }
  for (const [index, value] of [a, b, c, d, e, f, g, h].entries()) state[index] = (state[index]! + value) | 0
}

/** Returns the digest of a text in UTF-8. */
export async function sha256(text: string): Promise<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  if (globalThis.crypto?.subtle) return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  if (roundConstants[0] === 0) fillConstants()
  const state = initialState.slice()
  const view = padded(bytes)
  const words = new Uint32Array(64)
  for (let offset = 0; offset < view.byteLength; offset += 64) {
    for (let index = 0; index < 16; index++) words[index] = view.getUint32(offset + index * 4)
    for (let index = 16; index < 64; index++) {
      const [w15, w2] = [words[index - 15]!, words[index - 2]!]
      const s0 = rotate(w15, 7) ^ rotate(w15, 18) ^ (w15 >>> 3)
      const s1 = rotate(w2, 17) ^ rotate(w2, 19) ^ (w2 >>> 10)
      words[index] = (words[index - 16]! + s0 + words[index - 7]! + s1) | 0
    }
    mix(state, words)
  }
  const digest = new DataView(new ArrayBuffer(32))
  for (const [index, value] of state.entries()) digest.setUint32(index * 4, value)
  return new Uint8Array(digest.buffer)
}
