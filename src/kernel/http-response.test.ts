import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createResponseReader, ResponseError } from './http-response.ts'

/** Reads a text in pieces of a size; returns what the reader knows after it. */
function readIn(size: number, text: string) {
  const reader = createResponseReader()
  const bytes = Buffer.from(text, 'latin1')
  for (let from = 0; from < bytes.length; from += size) reader.read(bytes.subarray(from, from + size))
  return { status: reader.status, isComplete: reader.isComplete, isReusable: reader.isReusable }
}

const head = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`
const sizes = [1, 2, 3, 7, 1000]

suite('a response', () => {
  const cases: [string, string, { status: number; isComplete?: boolean; isReusable?: boolean }][] = [
    ['204 without a body', head('HTTP/1.1 204 No Content'), { status: 204 }],
    ['a status without a reason', head('HTTP/1.1 304'), { status: 304 }],
    ['a body with a length', `${head('HTTP/1.1 200 OK', 'Content-Length: 5')}hello`, { status: 200 }],
    ['an empty body', head('HTTP/1.1 500 x', 'content-length:0'), { status: 500 }],
    [
      'a body that is not complete',
      `${head('HTTP/1.1 200 OK', 'Content-Length: 6')}hello`,
      { status: 200, isComplete: false },
    ],
    [
      'a body in chunks',
      `${head('HTTP/1.1 200 OK', 'Transfer-Encoding: Chunked')}5;x=y\r\nhello\r\n00a\r\n0\r\n\r\n67890\r\n0\r\n\r\n`,
      { status: 200 },
    ],
    [
      'chunks with a trailer',
      `${head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked')}1\r\na\r\n0\r\nx-sum: 1\r\n\r\n`,
      { status: 200 },
    ],
    [
      'chunks without an end',
      `${head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked')}1\r\na\r\n0\r\n`,
      { status: 200, isComplete: false },
    ],
    [
      'a body until the connection ends',
      `${head('HTTP/1.1 200 OK')}hello`,
      { status: 200, isComplete: false, isReusable: false },
    ],
    [
      '100 Continue first',
      head('HTTP/1.1 100 Continue') + head('HTTP/1.1 202 x', 'content-length: 0'),
      { status: 202 },
    ],
    ['101', head('HTTP/1.1 101 Switching Protocols', 'upgrade: x'), { status: 101, isReusable: false }],
    ['Connection: close', head('HTTP/1.1 204 x', 'connection: x, Close'), { status: 204, isReusable: false }],
    ['HTTP/1.0', head('HTTP/1.0 204 x'), { status: 204, isReusable: false }],
    ['HTTP/1.0 with keep-alive', head('HTTP/1.0 204 x', 'connection: keep-alive'), { status: 204 }],
    ['bytes after the response', `${head('HTTP/1.1 204 x')}HTTP`, { status: 204, isReusable: false }],
    [
      'a length and chunks',
      `${head('HTTP/1.1 200 x', 'content-length: 3', 'transfer-encoding: chunked')}0\r\n\r\n`,
      { status: 200, isReusable: false },
    ],
  ]
  for (const [name, text, expected] of cases)
    test(`a response with ${name} is read in pieces of any size`, () => {
      for (const size of sizes)
        assert.deepEqual(readIn(size, text), { isComplete: true, isReusable: true, ...expected }, `${size}`)
    })

  const bad: [string, string][] = [
    ['another protocol', 'SSH-2.0-x\r\n\r\n'],
    ['another protocol without an end', 'RTSP/1.0 200'],
    ['HTTP/2', head('HTTP/2 200 OK')],
    ['a status of two digits', head('HTTP/1.1 20 OK')],
    ['a status that begins with zero', head('HTTP/1.1 099 OK')],
    ['a line break in the reason', head('HTTP/1.1 200 a\nb: c')],
    ['a header without a colon', head('HTTP/1.1 200 OK', 'hello')],
    ['a space before the colon', head('HTTP/1.1 200 OK', 'content-length : 1')],
    ['a continued header', head('HTTP/1.1 200 OK', 'x: 1', ' 2')],
    ['a negative length', head('HTTP/1.1 200 OK', 'content-length: -1')],
    ['two lengths', head('HTTP/1.1 200 OK', 'content-length: 1', 'content-length: 2')],
    ['a chunk without a size', `${head('HTTP/1.1 200 OK', 'transfer-encoding: chunked')}\r\n`],
    ['a chunk with a wrong size', `${head('HTTP/1.1 200 OK', 'transfer-encoding: chunked')}-1\r\n`],
    ['a chunk size without an end', `${head('HTTP/1.1 200 OK', 'transfer-encoding: chunked')}1;${'x'.repeat(2000)}`],
    ['too many headers', `HTTP/1.1 200 OK\r\n${'x: 1\r\n'.repeat(4000)}`],
  ]
  for (const [name, text] of bad)
    test(`a response with ${name} is an error`, () => {
      for (const size of sizes) assert.throws(() => readIn(size, text), ResponseError, `${size}`)
    })
})
