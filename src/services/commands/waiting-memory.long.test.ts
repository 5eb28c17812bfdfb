/** Tests the memory of callers that wait for the results of commands. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openGateway, services } from '../../../test/harness/gateway.ts'
import commandService from './index.ts'

const [endpointCount, perEndpoint] = [50, 30]

test('a caller that waits for the result of a command takes less than 12 KB of the heap with its connection, measured with 1,500 callers, and still gets the result', async (t) => {
  const { waypost, httpUrl, device, aProvisionedEndpoint } = await openGateway({
    services: [...services, commandService],
    authenticate: () => async () => aTenantAdmin(),
    environment: { WAYPOST_HTTP_CONNECTIONS: '5000', WAYPOST_HTTP_CONNECTIONS_PER_ADDRESS: '5000' },
  })
  const { port } = new URL(httpUrl)
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const sockets: Socket[] = []
  let answers = 0
  const others: string[] = []
  const open = () =>
    new Promise<void>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', resolve)
      socket.setEncoding('latin1').on('data', (text: string) => {
        if (text.startsWith('HTTP/1.1 200')) answers++
        else others.push(text.slice(0, 300))
      })
      sockets.push(socket)
    })
  const send = (socket: Socket, request: string) =>
    socket.write(
      `${request} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${'x'.repeat(1000)}\r\nContent-Length: 0\r\n\r\n`,
    )
  const rounds = [await aRound(), await aRound()]
  async function aRound() {
    return await Promise.all(Array.from({ length: endpointCount }, () => aProvisionedEndpoint()))
  }
  async function waitAll(endpoints: (typeof rounds)[0]) {
    for (const [index, socket] of sockets.entries()) {
      const { endpointId } = endpoints[index % endpoints.length]!
      send(socket, `POST /cex/api/v1/endpoints/${endpointId}/commands/blink?awaitTimeout=60`)
    }
    const stored = async () => {
      const ids = endpoints.map(({ endpointId }) => endpointId)
      const [row] = await waypost.kit.db.sql<{ count: number }[]>`
        select count(*)::integer from commands.commands where endpoint_id = any(${ids}::text[]) and waiting_node is not null`
      return row!.count
    }
    await eventually(async () => assert.equal(await stored(), sockets.length), { withinMs: 30_000 })
  }
  async function answerAll(endpoints: (typeof rounds)[0]) {
    const before = answers
    const sensor = await device()
    for (const { token, version } of endpoints) {
      const results = Array.from({ length: perEndpoint }, (_, n) => ({ id: n + 1, statusCode: 200, payload: 'done' }))
      await sensor.publish(`kp1/${version}/cex/${token}/result/blink`, results)
    }
    await eventually(() => assert.deepEqual([answers - before, others.slice(0, 2)], [sockets.length, []]), {
      withinMs: 30_000,
    })
  }
  for (let n = 0; n < endpointCount * perEndpoint; n++) await open()
  // The first round loads code and fills caches, so that only the memory of the callers is measured.
  await waitAll(rounds[0]!)
  await answerAll(rounds[0]!)
  collect()
  const before = process.memoryUsage().heapUsed
  await waitAll(rounds[1]!)
  collect()
  const each = (process.memoryUsage().heapUsed - before) / sockets.length
  t.diagnostic(`${Math.round(each)} bytes each`)
  await answerAll(rounds[1]!)
  for (const socket of sockets) socket.destroy()
  assert.ok(each < 12 * 1024, `${each} bytes`)
})
