import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import fastify from 'fastify'
import { pino } from 'pino'
import { messageFormat } from '../error-formats.ts'
import { defineError } from '../errors.ts'
import { respondWithError } from './failures.ts'

const levels = { warn: 40, error: 50 }
const NetworkDown = defineError('test_network_down', 502, 'The network did not answer')
const Overloaded = defineError('test_overloaded', 503, 'The platform is overloaded')

const cases: [name: string, error: () => Error, status: number, level: number | undefined][] = [
  ['a server of the user that fails', () => NetworkDown(), 502, levels.warn],
  ['a part of the platform that fails', () => Overloaded(), 503, levels.error],
  ['an unexpected error', () => new Error('a bug'), 500, levels.error],
  ['a wrong request', () => defineError('test_wrong', 400, 'wrong')(), 400, undefined],
]

test('failures of the platform are logged as errors, failures of other servers as warnings, and wrong requests are not logged', async () => {
  const lines: { level: number }[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const server = fastify()
  server.setErrorHandler((error, request, reply) => respondWithError(log, error, request, reply, messageFormat))
  for (const [index, [, error]] of cases.entries())
    server.get(`/${index}`, () => {
      throw error()
    })
  for (const [index, [name, , status, level]] of cases.entries()) {
    lines.length = 0
    const { statusCode } = await server.inject(`/${index}`)
    assert.deepEqual({ statusCode, level: lines[0]?.level }, { statusCode: status, level }, name)
  }
  await server.close()
})

test('a client that disconnects before its body is complete is not logged as a failure of the platform', async (t) => {
  const lines: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
  const server = fastify()
  t.after(() => server.close())
  const failed = Promise.withResolvers<number>()
  server.setErrorHandler((error, request, reply) => {
    respondWithError(log, error, request, reply, messageFormat)
    failed.resolve(reply.statusCode)
  })
  server.post('/', async () => 'done')
  await server.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a"')
  await once(server.server, 'request')
  socket.destroy()
  assert.deepEqual({ status: await failed.promise, lines }, { status: 400, lines: [] })
})
