import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeQuery, sha256Of, sign } from './signature.ts'

// The cases are the examples of "Authenticating Requests: Using the Authorization Header" in the Amazon S3 reference.
const credentials = {
  accessKey: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
}
const host = 'examplebucket.s3.amazonaws.com'
const at = new Date('2013-05-24T00:00:00Z')
const nothing = sha256Of()

for (const [what, request, signature] of [
  [
    'a part of an object',
    { method: 'GET', host, path: '/test.txt', query: {}, headers: { range: 'bytes=0-9' }, bodyHash: nothing },
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    'an object with a body',
    {
      method: 'PUT',
      host,
      path: '/test%24file.text',
      query: {},
      headers: { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
      bodyHash: sha256Of(Buffer.from('Welcome to Amazon S3.')),
    },
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  ],
  [
    'a parameter without a value',
    { method: 'GET', host, path: '/', query: { lifecycle: '' }, headers: {}, bodyHash: nothing },
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    'several parameters',
    { method: 'GET', host, path: '/', query: { prefix: 'J', 'max-keys': '2' }, headers: {}, bodyHash: nothing },
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
] as const)
  test(`the client signs ${what} as Amazon does`, () => {
    const { authorization } = sign(request, credentials, at)
    assert.match(authorization!, new RegExp(`Signature=${signature}$`))
    assert.match(authorization!, /Credential=AKIAIOSFODNN7EXAMPLE\/20130524\/us-east-1\/s3\/aws4_request/)
  })

test('query parameters are sorted and percent-encoded as RFC 3986 requires', () => {
  assert.equal(encodeQuery({ b: "!'()* +/=&~", a: 'ü', 'A-b': '' }), 'A-b=&a=%C3%BC&b=%21%27%28%29%2A%20%2B%2F%3D%26~')
})
