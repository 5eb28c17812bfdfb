import assert from 'node:assert/strict'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openTestPlatform } from '../../../test/harness/test-platform.ts'
import { contract } from '../contract.ts'
import { defineService } from '../define-service.ts'
import { CallerDisconnected, DeadlinePassed, type PlatformError, ProcessStopping } from '../errors.ts'
import { JsonObject } from '../schema.ts'
import type { Http } from './routes.ts'

/** Starts a server with operations that wait until their signal aborts, and then return the reason or throw it. */
async function aServer() {
  const signals: AbortSignal[] = []
  const response = { 200: JsonObject({ title: 'Anything' }) }
  function routes(http: Http) {
    for (const [path, deadlineSeconds] of [
      ['/wait', undefined],
      ['/deadline', 0.05],
      ['/throw', undefined],
      ['/throw-deadline', 0.05],
    ] as const)
      http.get(
        path,
        {
          schema: { name: `test${path.replace('/', '.')}`, summary: 'Wait', response },
          config: { scope: 'authenticated', ...(deadlineSeconds !== undefined && { deadlineSeconds }) },
        },
        async ({ ctx: { signal } }) => {
          signals.push(signal)
          if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
          if (path.startsWith('/throw')) signal.throwIfAborted()
          return { reason: (signal.reason as PlatformError).code }
        },
      )
    http.get(
      '/quick',
      { schema: { name: 'test.quick', summary: 'Answer', response }, config: { scope: 'authenticated' } },
      ({ ctx }) => {
        signals.push(ctx.signal)
        return { same: signals.at(-1) === ctx.signal }
      },
    )
  }
  const service = defineService({
    name: 'test',
    provides: contract<object>('test'),
    build: () => ({ api: {}, http: [{ name: 'test', roots: ['/api'], routes }] }),
  })
  const waypost = await openTestPlatform({ services: [service], authenticate: () => async () => aTenantAdmin() })
  await waypost.http.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = waypost.http.app.server.address() as AddressInfo
  return { waypost, signals, port, get: (path: string) => fetch(`http://127.0.0.1:${port}/api${path}`) }
}

test('the signal of a request aborts when its connection closes before the response, but not when it closes after the response', async () => {
  const { waypost, signals, port, get } = await aServer()
  assert.deepEqual(await (await get('/quick')).json(), { same: true })
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /api/wait HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => assert.equal(signals.length, 2))
  socket.destroy()
  await eventually(() => assert.ok(signals[1]!.aborted))
  assert.ok(CallerDisconnected.is(signals[1]!.reason))
  await waypost.close()
  assert.equal(signals[0]!.aborted, false, 'the signal of an answered request must not abort')
})

test('the signal of a request aborts at the deadline of the operation and when the server closes; both requests get a response', async () => {
  const { waypost, signals, get } = await aServer()
  assert.deepEqual(await (await get('/deadline')).json(), { reason: 'deadline_passed' })
  assert.ok(DeadlinePassed.is(signals[0]!.reason))
  const waiting = get('/wait')
  await eventually(() => assert.equal(signals.length, 2))
  const closing = waypost.http.close()
  assert.deepEqual(await (await waiting).json(), { reason: 'process_stopping' })
  assert.ok(ProcessStopping.is(signals[1]!.reason))
  await closing
})

test('the signal of a request aborts when the process begins to stop; the signals of later requests are already aborted', async () => {
  const { waypost, signals, get } = await aServer()
  const waiting = get('/wait')
  await eventually(() => assert.equal(signals.length, 1))
  waypost.beginStop()
  assert.deepEqual(await (await waiting).json(), { reason: 'process_stopping' })
  assert.deepEqual(await (await get('/wait')).json(), { reason: 'process_stopping' })
  assert.ok(waypost.kit.system('default').signal.aborted)
})

test('an operation that throws the reason responds with 504 at the deadline and 503 at a stop', async () => {
  const { waypost, signals, get } = await aServer()
  assert.equal((await get('/throw-deadline')).status, 504)
  const waiting = get('/throw')
  await eventually(() => assert.equal(signals.length, 2))
  waypost.beginStop()
  const response = await waiting
  assert.equal(response.status, 503)
  assert.equal(response.headers.get('retry-after'), '2')
})

test('a request that becomes complete after the server has begun to close gets 503 with Retry-After', async () => {
  const { waypost, port } = await aServer()
  const accepted = new Promise<Socket>((resolve) => waypost.http.app.server.once('connection', resolve))
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (data) => {
    text += data
  })
  const begun = 'GET /api/quick HTTP/1.1\r\nHost: x\r\n'
  socket.write(begun)
  const server = await accepted
  await eventually(() => assert.equal(server.bytesRead, begun.length))
  const closing = waypost.http.close()
  socket.write('\r\n')
  await closing
  await eventually(() => assert.ok(socket.closed))
  assert.match(text, /^HTTP\/1\.1 503 .*\{"message":"This node is stopping; try again"\}$/s)
  assert.match(text, /retry-after: 2\r\n/)
  assert.match(text, /connection: close\r\n/i)
})
