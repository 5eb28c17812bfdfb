import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { aDeviceEndpoint, rejectsWith, sendTo } from '../../../test/harness/device-messages.ts'
import { newId } from '../../kernel/ids.ts'
import type { CommandResult } from './contract.ts'
import { commandExtension } from './device.ts'
import { commandPush } from './push.ts'
import type { DeviceCommands } from './service.ts'

interface OutstandingCommand {
  id: number
  type: string
  payload?: unknown
}

const rowOf = ({ id, type, payload }: OutstandingCommand) => ({
  id,
  type,
  payload: payload === undefined ? null : JSON.stringify(payload),
})
const nothing = commandExtension(
  {
    outstanding: async () => [],
    results: async (_endpoint, messages) => messages.map(() => 0),
    catchUp: async () => {},
  },
  { observe: async () => {} },
)

/** Sends messages and parses the JSON texts of the responses. */
function sendAndParse(...args: Parameters<typeof sendTo>) {
  const send = sendTo(...args)
  return async (...message: Parameters<typeof send>) => {
    const answer = await send(...message)
    return answer && Buffer.isBuffer(answer.payload)
      ? { ...answer, payload: JSON.parse(answer.payload.toString()) }
      : answer
  }
}

function aDevice(...waiting: OutstandingCommand[]) {
  const stored: (CommandResult & { type: string })[] = []
  const calls: CommandResult[][] = []
  const caughtUp: string[] = []
  const batches: number[] = []
  const store = (type: string, result: CommandResult) => {
    const index = waiting.findIndex((command) => command.type === type && command.id === result.id)
    if (index < 0) return false
    waiting.splice(index, 1)
    stored.push({ type, ...result })
    return true
  }
  const commands: DeviceCommands = {
    outstanding: async (_endpoint, type) =>
      waiting.filter((command) => type === undefined || command.type === type).map(rowOf),
    catchUp: async ({ endpointId }) => void caughtUp.push(endpointId),
    async results(_endpoint, messages) {
      batches.push(messages.length)
      calls.push(...messages.map(({ results }) => results))
      await new Promise(setImmediate)
      return messages.map(({ type, results }) => results.filter((result) => store(type, result)).length)
    },
  }
  const observed: unknown[] = []
  const observe = async (...args: unknown[]) => void observed.push(args.slice(1))
  const extension = commandExtension(commands, { observe })
  const endpoint = aDeviceEndpoint({ endpointId: newId() })
  return { extension, endpoint, stored, calls, batches, observed, caughtUp, send: sendAndParse(extension, endpoint) }
}

const reboot = { id: 1, type: 'reboot' }
const light = { id: 2, type: 'light', payload: { on: true } }
const light2 = { id: 3, type: 'light', payload: null }

suite('a request for commands', () => {
  test('a request for commands of a type returns all outstanding commands of this type, with or without a request id', async () => {
    const { send } = aDevice(reboot, light, light2)
    const lights = [
      { id: 2, payload: { on: true } },
      { id: 3, payload: null },
    ]
    for (const payload of ['', {}, { observe: null }])
      assert.deepEqual(await send('/command/light', payload), { payload: lights, always: true })
    assert.deepEqual(await send('/command/reboot', '', { requestId: 0 }), { payload: [{ id: 1 }], always: true })
  })

  test('a request for commands of all types returns each command with its type', async () => {
    const { send } = aDevice(reboot, light)
    assert.deepEqual(await send('/command'), {
      payload: [
        { id: 1, type: 'reboot' },
        { id: 2, payload: { on: true }, type: 'light' },
      ],
      always: true,
    })
  })

  test('a request that finds no command gets [] if it has a request id, and otherwise no response', async () => {
    for (const send of [aDevice().send, sendAndParse(nothing)])
      for (const path of ['/command/light', '/command']) {
        assert.deepEqual(await send(path, '', { requestId: 7 }), { payload: [], always: false })
        assert.deepEqual(await send(path), { payload: [], always: false })
      }
  })
})

suite('a result', () => {
  test('a result is passed to the service, and a message with a request id gets a response', async () => {
    const { send, stored } = aDevice(reboot, light, light2)
    assert.deepEqual(await send('/result/reboot', [{ id: 1, statusCode: 200 }]), {})
    const lights = [
      { id: 2, statusCode: 500, reasonPhrase: 'no bulb', payload: null, extra: 1 },
      { id: 3, statusCode: 100, reasonPhrase: null, payload: { deep: [1, 'x'] } },
    ]
    assert.deepEqual(await send('/result/light', lights, { requestId: 3 }), {})
    assert.deepEqual(stored, [
      { type: 'reboot', id: 1, statusCode: 200 },
      { type: 'light', id: 2, statusCode: 500, reasonPhrase: 'no bulb', payload: null },
      { type: 'light', id: 3, statusCode: 100, payload: { deep: [1, 'x'] } },
    ])
  })

  test('a message may contain one result as an object instead of a list', async () => {
    const { send, stored } = aDevice(reboot)
    assert.deepEqual(await send('/result/reboot', ' \n\t{"id": 1, "statusCode": 599}', { requestId: 3 }), {})
    assert.deepEqual(stored, [{ type: 'reboot', id: 1, statusCode: 599 }])
  })

  test('integers in a result that a double cannot represent are rounded', async () => {
    const { send, stored } = aDevice(reboot)
    const result =
      '{"id":1,"statusCode":200,"payload":{"nanoseconds":1763460000123456789,"ids":[18446744073709551615]}}'
    assert.deepEqual(await send('/result/reboot', `[${result}]`), {})
    const payload = { nanoseconds: 1763460000123456800, ids: [18446744073709552000] }
    assert.deepEqual(stored, [{ type: 'reboot', id: 1, statusCode: 200, payload }])
    await rejectsWith(send('/result/reboot', '[{"id":1,"statusCode":200,"payload":1e999}]'), 400)
  })

  test('a list of results may be empty', async () => {
    for (const { send, calls } of [aDevice(reboot)])
      for (const message of [{}, { requestId: 1 }]) {
        assert.deepEqual(await send('/result/reboot', [], message), {})
        assert.deepEqual(calls, [])
      }
    assert.deepEqual(await sendAndParse(nothing)('/result/reboot', [], { requestId: 1 }), {})
  })

  test('the result of an unknown command is ignored if the message also has the result of a known command', async () => {
    const { send, stored } = aDevice(reboot)
    const results = [
      { id: 9, statusCode: 200 },
      { id: 1, statusCode: 200 },
    ]
    assert.deepEqual(await send('/result/reboot', results, { requestId: 1 }), {})
    assert.deepEqual(stored, [{ type: 'reboot', id: 1, statusCode: 200 }])
  })

  test('a message with only results of unknown commands gets an error if it has a request id, and is otherwise ignored', async () => {
    const unknown = [{ id: 9, statusCode: 200 }]
    for (const send of [aDevice(reboot).send, sendAndParse(nothing)]) {
      const error = await rejectsWith(send('/result/reboot', unknown, { requestId: 0 }), 400)
      assert.match(error.message, /no command of type reboot waits/)
      assert.deepEqual(await send('/result/reboot', unknown), {})
    }
    // The command of the first message has another type, and the command of the last message already has a result.
    const { send } = aDevice(reboot)
    await rejectsWith(send('/result/light', [{ id: 1, statusCode: 200 }], { requestId: 1 }), 400)
    await send('/result/reboot', [{ id: 1, statusCode: 200 }], { requestId: 1 })
    await rejectsWith(send('/result/reboot', [{ id: 1, statusCode: 200 }], { requestId: 1 }), 400)
  })

  test('only the first result of a command counts', async () => {
    const { send, stored } = aDevice(reboot)
    await send('/result/reboot', [
      { id: 1, statusCode: 200 },
      { id: 1, statusCode: 500 },
    ])
    assert.deepEqual(stored, [{ type: 'reboot', id: 1, statusCode: 200 }])
  })

  test('a result with an id that no command can have is not passed to the service', async () => {
    const { send, calls } = aDevice(reboot)
    const odd = [-1, 0, 2 ** 31, 1e300].map((id) => ({ id, statusCode: 200 }))
    assert.deepEqual(await send('/result/reboot', odd), {})
    await rejectsWith(send('/result/reboot', odd, { requestId: 1 }), 400)
    assert.deepEqual(calls, [])
  })

  test('a result is stored before the next request gets its response', async () => {
    const { send } = aDevice(reboot)
    const [, next] = await Promise.all([
      send('/result/reboot', [{ id: 1, statusCode: 200 }]),
      send('/command/reboot', '', { requestId: 1 }),
    ])
    assert.deepEqual(next?.payload, [])
  })

  test('results that arrive while other results are being stored form one batch, in order, and each message gets its own response', async () => {
    const many = Array.from({ length: 50 }, (_, n) => ({ id: n + 1, type: 'reboot' }))
    const { send, stored, batches } = aDevice(...many)
    const requestId = 1
    const answers = await Promise.allSettled([
      ...many.map(({ id }) => send('/result/reboot', [{ id, statusCode: 200 }], { requestId })),
      send('/result/reboot', [{ id: 7, statusCode: 500 }], { requestId }),
      send('/result/light', [{ id: 8, statusCode: 500 }], { requestId }),
    ])
    assert.deepEqual(batches, [1, 51])
    assert.deepEqual(
      stored.map(({ id, statusCode }) => [id, statusCode]),
      many.map(({ id }) => [id, 200]),
    )
    assert.deepEqual(
      answers.map(({ status }) => status),
      [...many.map(() => 'fulfilled'), 'rejected', 'rejected'],
    )
  })

  test('a result that follows a request for commands is stored after the response to this request', async () => {
    const { send, batches } = aDevice(reboot, light, light2)
    const result = (type: string, id: number) => send(`/result/${type}`, [{ id, statusCode: 200 }])
    const [, , polled] = await Promise.all([
      result('reboot', 1),
      result('light', 2),
      send('/command', '', { requestId: 1 }),
      result('light', 3),
    ])
    assert.deepEqual(polled?.payload, [{ id: 3, payload: null, type: 'light' }])
    assert.deepEqual(batches, [1, 1, 1])
  })

  test('large results are stored in several batches', async () => {
    const { send, batches } = aDevice()
    const large = { id: 1, statusCode: 200, payload: 'x'.repeat(100_000) }
    await Promise.all(Array.from({ length: 6 }, () => send('/result/reboot', [large])))
    assert.deepEqual(batches, [1, 2, 2, 1])
  })

  test('for any input, the result of each id is passed to the service once, in order', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc
            .tuple(fc.integer({ min: -2, max: 6 }), fc.integer({ min: 100, max: 599 }))
            .map(([id, statusCode]) => ({ id, statusCode })),
        ),
        async (results) => {
          const { send, calls } = aDevice()
          await send('/result/light', results)
          const expected = results.filter(
            ({ id }, index) => id > 0 && results.findIndex((other) => other.id === id) === index,
          )
          assert.deepEqual(calls[0] ?? [], expected)
        },
      ),
    ))
})

suite('a bad message', () => {
  const result = (fields: object) => [{ id: 1, statusCode: 200, ...fields }]
  const bad: [path: string, payload: unknown, problem: RegExp][] = [
    ['/command/reboot', '{', /malformed/],
    ['/command/reboot', '[]', /payload: expected an object/],
    ['/command/reboot', { observe: 1 }, /observe: expected true or false/],
    ['/command/re boot', '', /type: expected/],
    ['/result/re.boot', [], /type: expected/],
    ['/result/reboot', '', /payload: expected JSON/],
    ['/result/reboot', '5', /payload: expected an array/],
    ['/result/reboot', '[{]', /malformed/],
    ['/result/reboot', [5], /0: expected an object/],
    ['/result/reboot', [{ statusCode: 200 }], /0\.id: is required/],
    ['/result/reboot', [{ id: 1 }], /0\.statusCode: is required/],
    ['/result/reboot', { id: 1 }, /^statusCode: is required/],
    ['/result/reboot', result({ id: '1' }), /0\.id: expected an integer/],
    ['/result/reboot', result({ id: 1.5 }), /0\.id: expected an integer/],
    ['/result/reboot', result({ statusCode: 99 }), /0\.statusCode: expected a number >= 100/],
    ['/result/reboot', result({ statusCode: 600 }), /0\.statusCode: expected a number <= 599/],
    ['/result/reboot', result({ statusCode: '200' }), /0\.statusCode: expected an integer/],
    ['/result/reboot', result({ reasonPhrase: {} }), /0\.reasonPhrase: expected a string/],
    ['/result/reboot', [...result({}), { id: 2, statusCode: 7 }], /1\.statusCode/],
  ]
  for (const [path, payload, problem] of bad)
    test(`a message to ${path} with the payload ${JSON.stringify(payload).slice(0, 50)} is rejected`, async () => {
      const { send, calls } = aDevice(reboot)
      const error = await rejectsWith(send(path, payload), 400)
      assert.match(error.message, problem)
      assert.deepEqual(calls, [])
    })

  for (const path of ['', '/command/', '/command/a/b', '/result', '/result/', '/commands', '/status'])
    test(`a message to the unknown resource "${path}" is rejected`, async () =>
      void (await rejectsWith(aDevice().send(path), 404)))
})

suite('pushes', () => {
  test('a push is a list of commands of one type', () => {
    const { payload, ...push } = commandPush('light', [light, light2, { ...light, payload: undefined }].map(rowOf))
    assert.deepEqual(push, { extension: 'cex', name: 'light', resourcePath: '/command/light' })
    assert.equal(String(payload), '[{"id":2,"payload":{"on":true}},{"id":3,"payload":null},{"id":2}]')
  })

  test('outstanding commands are pushed when the device connects, and again when its connection was reported to other nodes', async () => {
    const { extension, endpoint, caughtUp } = aDevice(light)
    assert.deepEqual(await extension.connected!(endpoint), [])
    const other = { ...endpoint, endpointId: 'other' }
    await extension.connectivityChanged!([
      { endpoint, connected: true, at: new Date() },
      { endpoint: other, connected: false, at: new Date() },
    ])
    assert.deepEqual(caughtUp, [endpoint.endpointId, endpoint.endpointId])
  })

  test('a request with `observe` turns pushes of one type, or of all types, on or off', async () => {
    const { send, observed } = aDevice(reboot, light)
    assert.deepEqual((await send('/command/reboot', { observe: false }))?.payload, [{ id: 1 }])
    await send('/command/light')
    await send('/command/light', { observe: null })
    await send('/command', { observe: true })
    assert.deepEqual(observed, [
      ['cex', 'reboot', false],
      ['cex', '', true],
    ])
  })
})
