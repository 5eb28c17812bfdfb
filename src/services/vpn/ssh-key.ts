/** Matches a line with a public key of OpenSSH: type, base64 and an optional comment (document 5, 8.6). */
const line = /^([a-z0-9@.-]{4,64}) ([A-Za-z0-9+/]{16,16000}={0,2})(?: ([^\p{Cc}\u2028\u2029]{1,255}))?$/u

export const sshKeyLength = 17_000
const rsaBitsMin = 2048

/** Number of fields after the type in the bytes of a key. Each field is a length of four bytes followed by that many bytes. */
const fieldsByType: Record<string, number> = {
  'ssh-ed25519': 1,
  'ssh-rsa': 2,
  'ecdsa-sha2-nistp256': 2,
  'ecdsa-sha2-nistp384': 2,
  'ecdsa-sha2-nistp521': 2,
  'sk-ssh-ed25519@openssh.com': 2,
  'sk-ecdsa-sha2-nistp256@openssh.com': 3,
}

const curvePointBytes: Record<string, number> = { nistp256: 65, nistp384: 97, nistp521: 133 }

/** Returns the problem with a public SSH key; undefined if the key is valid. */
export function sshKeyProblem(text: string): string | undefined {
  const [, type = '', base64 = ''] = line.exec(text) ?? []
  const fieldCount = Object.hasOwn(fieldsByType, type) ? fieldsByType[type] : undefined
  if (fieldCount === undefined)
    return 'expected one line with a public key of OpenSSH: ed25519, ecdsa, sk-* or rsa, with an optional comment'
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.toString('base64').replace(/=+$/, '') !== base64.replace(/=+$/, '')) return 'the key is not valid base64'
  const fields = fieldsOf(bytes)
  if (!fields || fields.length !== fieldCount + 1 || fields[0]!.toString('latin1') !== type)
    return `the key is not a public key of the type ${type}`
  return valueProblem(type, fields)
}

function valueProblem(type: string, fields: Buffer[]): string | undefined {
  if (type === 'ssh-rsa') {
    const bits = bitLength(fields[2]!)
    if (bitLength(fields[1]!) < 2) return 'the RSA key has no usable exponent'
    return bits < rsaBitsMin ? `expected an RSA key of at least ${rsaBitsMin} bits, this key has ${bits}` : undefined
  }
  const curve = fields[1]!.toString('latin1')
  const isComplete = type.includes('ed25519')
    ? fields[1]!.length === 32
    : type.endsWith(curve) || type.includes(`-${curve}@`)
      ? fields[2]!.length === curvePointBytes[curve] && fields[2]![0] === 4
      : false
  return isComplete ? undefined : `the key is not a public key of the type ${type}`
}

function fieldsOf(bytes: Buffer): Buffer[] | undefined {
  const fields: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    if (at + 4 > bytes.length) return undefined
    const end = at + 4 + bytes.readUInt32BE(at)
    if (end > bytes.length) return undefined
    fields.push(bytes.subarray(at + 4, end))
    at = end
  }
  return fields
}

/** Returns the number of bits of a positive number. Returns 0 for a negative number, which no valid key contains. */
function bitLength(bytes: Buffer): number {
  if (bytes.length === 0 || bytes[0]! >= 0x80) return 0
  return BigInt(`0x${bytes.toString('hex')}`).toString(2).length
}
