import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { afterAllTests } from '../../../test/harness/database.ts'
import { createCodecs } from './codecs.ts'

const folder = join(import.meta.dirname, '../../../examples/codecs')
const codecs = createCodecs((error) => assert.fail(String(error)))
afterAllTests(() => codecs.stop())
const tenantId = 'default'
const recvTime = new Date('2026-05-05T10:00:00Z')

const textOf = (name: string) => readFileSync(join(folder, `${name}.js`), 'utf8')
const decode = (formatter: string, hex: string, fPort: number) =>
  codecs.decode({ tenantId, formatter, bytes: Buffer.from(hex.replaceAll(' ', ''), 'hex'), fPort, recvTime })
const encode = (formatter: string, data: unknown, fPort = 1) => codecs.encode({ tenantId, formatter, data, fPort })

type Payload = [bytes: string, port: number, data: object | string]
type Downlink = [data: object, bytes: string | RegExp, port?: number]

/** Payloads from the documents of the manufacturers, with their decoded values. */
const devices: Record<string, { up?: Payload[]; down?: Downlink[] }> = {
  'dragino-lht65': {
    up: [['CBF60B0D0376010ADD7FFF', 2, { BatV: 3.062, TempC_SHT: 28.29, Hum_SHT: 88.6, TempC_DS: 27.81 }]],
  },
  'dragino-lds02': {
    up: [
      [
        '8BB801000003000010 00',
        10,
        { BAT_V: 3, MOD: 1, DOOR_OPEN_STATUS: 1, DOOR_OPEN_TIMES: 3, LAST_DOOR_OPEN_DURATION: 16, ALARM: 0 },
      ],
    ],
  },
  'dragino-lse01': {
    up: [
      [
        '0CE5 FFF6 05DC 0A09 00C8 10',
        2,
        { BatV: 3.301, temp_DS18B20: -1, water_SOIL: 15, temp_SOIL: 25.69, conduct_SOIL: 200 },
      ],
    ],
    down: [
      [{ interval: 1200 }, '010004b0', 2],
      [{ interval: 'soon' }, /interval/],
    ],
  },
  'dragino-lt22222': {
    down: [
      [{ relay1: true, relay2: false }, '030100', 2],
      [{ command: 'reboot' }, '04ff', 2],
      [{ relay1: true }, /relay2/],
    ],
  },
  'elsys-ers': {
    up: [
      [
        '0100e202290400270506060308070d62',
        5,
        { temperature: 22.6, humidity: 41, light: 39, motion: 6, co2: 776, vdd: 3426 },
      ],
      ['01ff9c', 5, { temperature: -10 }],
      ['fe', 5, 'unknown type 254'],
    ],
  },
  'milesight-em300-th': {
    up: [['01755C03673401046865', 85, { battery: 92, temperature: 30.8, humidity: 50.5 }]],
    down: [
      [{ report_interval: 1200 }, 'ff03b004', 85],
      [{ reboot: 'yes' }, 'ff10ff', 85],
      [{}, /report_interval must be a number/],
    ],
  },
  'milesight-ws101': {
    up: [['017564FF2E01', 85, { battery: 100, press: 'short' }]],
    down: [[{ report_interval: 1080 }, 'ff033804']],
  },
  'milesight-em500-co2': {
    up: [
      [
        '0175640367F600046871057D670406736827',
        85,
        { battery: 100, temperature: 24.6, humidity: 56.5, co2: 1127, pressure: 1008.8 },
      ],
      ['017564ABCD', 85, { battery: 100 }],
    ],
  },
  'cayenne-lpp': {
    up: [
      ['03670110056700FF', 1, { temperature_3: 27.2, temperature_5: 25.5 }],
      ['0167FFD7', 1, { temperature_1: -4.1 }],
      ['067104D2FB2E0000', 1, { accelerometer_6: { x: 1.234, y: -1.234, z: 0 } }],
      ['018806765FF2960A0003E8', 1, { gps_1: { latitude: 42.3519, longitude: -87.9094, altitude: 10 } }],
    ],
  },
  'browan-tbhh100': {
    up: [
      ['000B372D90012C00', 103, { battery: 3.6, temperature: 23, humidity: 45, eco2: 400, voc: 44 }],
      ['00', 1, 'unknown FPort'],
    ],
  },
  'browan-tbdw100': {
    up: [['010B3705002A0000', 100, { open: true, battery: 3.6, temperature: 23, minutes: 5, count: 42 }]],
  },
  'decentlab-dl-sht35': {
    up: [
      [
        '02030e000364a079b10c60',
        1,
        {
          protocol_version: 2,
          device_id: 782,
          air_temperature: 23.788,
          air_humidity: 47.536,
          battery_voltage: 3.168,
        },
      ],
      ['02030e00020c60', 1, { protocol_version: 2, device_id: 782, battery_voltage: 3.168 }],
      ['01', 1, 'protocol version 1'],
    ],
  },
  'tektelic-smart-room': {
    up: [['0367000A04682800FF012C', 10, { ambient_temperature: 1, relative_humidity: 20, battery_voltage: 3 }]],
  },
  'netvox-r711': {
    up: [['010B012409C41388000000', 6, { Device: 'R711', Volt: 3.6, LowBattery: false, Temp: 25, Humi: 50 }]],
    down: [
      [{ Cmd: 'ConfigReportReq', MinTime: 60, MaxTime: 3600 }, '010b003c0e100000000000', 7],
      [{ Cmd: 'Explode' }, /unknown command Explode/],
    ],
  },
  'sensecap-s2101': {
    up: [['0101109853000001021 0A87A0000AF51', 2, { air_temperature: 21.4, air_humidity: 31.4 }]],
  },
  'digital-matter-oyster': {
    up: [
      [
        '53AB783C0421F98E940AB3',
        1,
        {
          type: 'position',
          latitudeDeg: 101.4541139,
          longitudeDeg: -189.6275708,
          inTrip: false,
          fixFailed: false,
          headingDeg: 208.125,
          speedKmph: 10,
          batV: 4.475,
        },
      ],
    ],
  },
  'mclimate-vicki': {
    up: [
      [
        '81149762A2A211E030',
        2,
        {
          reason: 0x81,
          targetTemperature: 20,
          sensorTemperature: 21.65,
          relativeHumidity: 38.28,
          batteryVoltage: 3.4,
          openWindow: false,
          childLock: false,
        },
      ],
    ],
    down: [
      [{ setKeepAlive: 10, setTargetTemperature: 21 }, '020a0e15', 1],
      [{}, /nothing to set/],
    ],
  },
  'bosch-tps110': {
    up: [
      ['01', 1, { type: 'parking_status', occupied: true }],
      ['00', 2, { type: 'heartbeat', occupied: false }],
      [`${'00'.repeat(12)}001B020001`, 3, { type: 'startup', firmware: '0.27.2', occupied: true }],
    ],
  },
  'radiobridge-rbs301': {
    up: [
      ['1A0301', 2, { protocol: 1, counter: 10, event: 'door', open: true }],
      ['1B01000029', 2, { protocol: 1, counter: 11, event: 'supervisory', battery: 2.9 }],
    ],
  },
  'globalsat-ls11x': {
    up: [['01096113950292', 1, { temperature: 24.01, humidity: 50.13, co2: 658 }]],
  },
  'talkpool-oy1100': {
    up: [['402CA2', 2, { temperature: 23.4, humidity: 45.6 }]],
    down: [[{ interval: 600 }, '0258']],
  },
  'laird-rs1xx': {
    up: [
      ['0100322D191705 00000000', 1, { options: 0, humidity: 45.5, temperature: 23.25, battery: '80-100%' }],
      ['0500', 1, 'message type 5'],
    ],
  },
}

suite('public device codecs', () => {
  test('examples/codecs contains at least twenty public device codecs, and this file tests each of them', () => {
    const files = readdirSync(folder).filter((name) => name.endsWith('.js'))
    assert.deepEqual(files.map((name) => name.slice(0, -3)).toSorted(), Object.keys(devices).toSorted())
    assert.ok(files.length >= 20)
  })

  for (const [name, { up = [], down = [] }] of Object.entries(devices))
    test(`the codec ${name} decodes and encodes as the manufacturer documents`, async () => {
      const formatter = textOf(name)
      assert.deepEqual(await codecs.inspect(tenantId, formatter), { decodes: up.length > 0, encodes: down.length > 0 })
      for (const [bytes, port, data] of up) {
        const decoded = await decode(formatter, bytes, port)
        if (typeof data === 'string')
          assert.ok('error' in decoded && decoded.error.includes(data), JSON.stringify(decoded))
        else assert.deepEqual(decoded, { data })
      }
      for (const [data, bytes, fPort] of down) {
        const encoded = await encode(formatter, data)
        if (typeof bytes === 'string')
          assert.deepEqual(encoded, { bytes: Buffer.from(bytes, 'hex'), ...(fPort && { fPort }) })
        else assert.ok('error' in encoded && bytes.test(encoded.error), JSON.stringify(encoded))
      }
    })
})

suite('formatters', () => {
  const wrong: [what: string, text: string, error: RegExp][] = [
    ['does not parse', 'function decodeUplink(', /line 1, column/],
    ['has no function', 'var decodeUplink = 5', /expected a function/],
    ['returns outside of a function', 'return 5', /return/],
    ['throws outside of a function', '\n\nthrow new TypeError("no")', /line 3.*TypeError: no/],
    ['closes the function around it', '}); (function () {', /line 1/],
    ['never ends', 'while (true) {}', /steps|seconds/],
  ]
  for (const [what, text, error] of wrong)
    test(`a formatter that ${what} is rejected`, async () => {
      const found = await codecs.inspect(tenantId, text)
      assert.ok('error' in found && error.test(found.error), JSON.stringify(found))
    })

  test('a function name in a comment or inside a function does not count as the decoder', async () => {
    const older = 'function Decoder(bytes, port) { return { n: bytes[0] + port } }'
    const hidden = ['/*\nfunction decodeUplink(input) {}\n*/', 'function other() {\nfunction decodeUplink() {}\n}']
    for (const text of hidden) assert.deepEqual(await decode(`${text}\n${older}`, '07', 1), { data: { n: 8 } })
    const { error } = (await decode('function decodeUplink() { return missing() }', '07', 1)) as { error: string }
    assert.match(error, /line 1.*missing is not defined/)
  })

  test('a formatter gets the time of the uplink as a Date, and keeps no state from one uplink to the next', async () => {
    const formatter = `var count = 0; globalThis.kept = (globalThis.kept || 0) + 1
      function decodeUplink(input) { return { data: { time: input.recvTime.toISOString(), count: ++count, kept: globalThis.kept } } } // end`
    for (let n = 0; n < 2; n++)
      assert.deepEqual(await decode(formatter, '', 1), { data: { time: recvTime.toISOString(), count: 1, kept: 1 } })
  })

  const bad: [result: string, error: RegExp][] = [
    ['5', /no list `bytes`/],
    ['{ bytes: "x" }', /no list `bytes`/],
    ['{ bytes: [256] }', /no list `bytes`/],
    ['{ bytes: [1.5] }', /no list `bytes`/],
    ['{ bytes: [1], fPort: 0 }', /fPort/],
    ['{ bytes: [1], errors: ["no"] }', /no/],
  ]
  for (const [result, error] of bad)
    test(`an encoder that returns ${result} fails`, async () => {
      const encoded = await encode(`function encodeDownlink() { return ${result} }`, {})
      assert.ok('error' in encoded && error.test(encoded.error), JSON.stringify(encoded))
    })
})
