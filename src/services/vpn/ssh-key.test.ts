import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { sshKeyProblem } from './ssh-key.ts'

const field = (bytes: Buffer | string) => {
  const content = Buffer.from(bytes)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(content.length)
  return Buffer.concat([length, content])
}
const key = (type: string, ...fields: (Buffer | string)[]) =>
  `${type} ${Buffer.concat([type, ...fields].map(field)).toString('base64')}`

function rsa(bits: number) {
  const { n, e } = generateKeyPairSync('rsa', { modulusLength: bits }).publicKey.export({ format: 'jwk' })
  return key('ssh-rsa', Buffer.from(e!, 'base64url'), Buffer.concat([Buffer.of(0), Buffer.from(n!, 'base64url')]))
}

const point = (bytes: number) => Buffer.concat([Buffer.of(4), Buffer.alloc(bytes - 1, 7)])
const ed25519 = key('ssh-ed25519', Buffer.alloc(32, 1))

for (const [name, text] of Object.entries({
  ed25519,
  'ed25519 with a comment': `${ed25519} user@host, hall 2`,
  'rsa of 2048 bits': rsa(2048),
  'ecdsa 256': key('ecdsa-sha2-nistp256', 'nistp256', point(65)),
  'ecdsa 384': key('ecdsa-sha2-nistp384', 'nistp384', point(97)),
  'ecdsa 521': key('ecdsa-sha2-nistp521', 'nistp521', point(133)),
  'sk-ed25519': key('sk-ssh-ed25519@openssh.com', Buffer.alloc(32, 1), 'ssh:'),
  'sk-ecdsa': key('sk-ecdsa-sha2-nistp256@openssh.com', 'nistp256', point(65), 'ssh:'),
}))
  test(`the SSH key of a VPN client is accepted: ${name}`, () => assert.equal(sshKeyProblem(text), undefined))

for (const [name, text] of Object.entries({
  'an empty text': '',
  'a private key': '-----BEGIN OPENSSH PRIVATE KEY-----',
  options: `command="sh" ${ed25519}`,
  'rsa of 1024 bits': rsa(1024),
  dsa: key('ssh-dss', Buffer.alloc(20)),
  'a type that differs from the type in its bytes': ed25519.replace('ssh-ed25519 ', 'ssh-rsa '),
  'a short key': key('ssh-ed25519', Buffer.alloc(31)),
  'a further field': key('ssh-ed25519', Buffer.alloc(32), 'x'),
  'the wrong curve': key('ecdsa-sha2-nistp256', 'nistp384', point(97)),
  'a point of the wrong length': key('ecdsa-sha2-nistp256', 'nistp256', point(64)),
  'a length beyond the end': `ssh-ed25519 ${Buffer.from([255, 255, 255, 255, 1, 2, 3, 4, 5, 6, 7, 8]).toString('base64')}`,
  'two lines': `${ed25519}\n${ed25519}`,
  'a line end': `${ed25519}\n`,
  'a carriage return in the comment': `${ed25519} a\rb`,
  'a line separator in the comment': `${ed25519} a\u2028b`,
  'base64 with an invalid character': `${ed25519.slice(0, -1)}!`,
}))
  test(`the SSH key of a VPN client is rejected: ${name}`, () => assert.ok(sshKeyProblem(text)))

test('a type with the name of a property of every object is an unknown type', () =>
  assert.match(sshKeyProblem(key('constructor', Buffer.alloc(32, 1))) ?? '', /^expected one line with a public key/))
