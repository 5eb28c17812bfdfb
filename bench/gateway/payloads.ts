/** Payloads of devices. All payloads of a kind have the same length, so that packets can be built once and sent again. */

export interface Payload {
  /** Returns the payload of a packet. `slot` is the position of the packet in the window of packets that the device has in flight. */
  bytesFor(device: number, slot: number): Buffer
  /** Updates the part of the payload that differs from message to message. Called before the payload is sent again. */
  renew?(bytes: Buffer, device: number): void
}

export type PayloadName = 'note' | 'sample' | 'changing' | 'batch'

export const valuesOfSample = 5
export const samplesOfBatch = 100

/** Returns the payload of most parts of the gateway bench: 200 bytes of JSON with a timestamp, five numbers and a text. */
function note(): Payload {
  const values = {
    timestamp: 1_760_000_000_000,
    temperature: 21.57,
    humidity: 43.2,
    battery: 87,
    latitude: 50.4501,
    longitude: 30.5234,
  }
  const head = JSON.stringify({ ...values, note: '' }).length
  const bytes = Buffer.from(JSON.stringify({ ...values, note: 'x'.repeat(200 - head) }))
  return { bytesFor: () => bytes }
}

/** Returns a number between `from` and `to` with two decimals, derived from `seed`. All numbers of a range have the same length. */
const decimals = (from: number, to: number, seed: number) =>
  (from + (to - from) * ((Math.imul(seed, 2_654_435_761) >>> 0) / 2 ** 32)).toFixed(2)

const valuesText = (seed: number) =>
  `"temperature":${decimals(11, 40, seed)},"humidity":${decimals(20, 90, seed + 1)},` +
  `"pressure":${decimals(1001, 1099, seed + 2)},"voltage":${decimals(3, 4, seed + 3)},"level":${decimals(10, 99, seed + 4)}`

/** Returns one sample of five values, without a timestamp. */
const sample = (): Payload => ({ bytesFor: (device, slot) => Buffer.from(`{${valuesText(device * 31 + slot)}}`) })

/** Returns 145 bytes with three fixed texts and five values. The values differ from message to message. */
function changing(): Payload {
  const names = ['temperature', 'humidity', 'pressure', 'voltage', 'level']
  const fixed = '"deviceName":"sensor","site":"plant-one-north","fw":"1.2.3"'
  const text = `{${names.map((name) => `"${name}":21.50`).join()},${fixed}}`
  const offsets = names.map((name) => text.indexOf(`"${name}":`) + name.length + 3)
  return {
    bytesFor: () => Buffer.from(text),
    renew(bytes) {
      for (const offset of offsets) {
        const hundredths = 1000 + Math.floor(Math.random() * 9000)
        bytes.write(`${Math.floor(hundredths / 100)}.${String(hundredths % 100).padStart(2, '0')}`, offset, 5, 'latin1')
      }
    },
  }
}

const stepMs = 1000
const timeHead = '{"timestamp":'
const timeDigits = 13

/** Returns a hundred samples, one per second. The times of each message follow the times of the previous message. */
function batch(): Payload {
  const clocks = new Map<number, number>()
  const began = Date.now() - 3_600_000
  const sampleText = (seed: number) => `${timeHead}${began},${valuesText(seed)}}`
  const stride = sampleText(0).length + 1
  return {
    bytesFor: (device, slot) => {
      const samples = Array.from({ length: samplesOfBatch }, (_, n) => sampleText(device * 31 + slot * 7 + n))
      return Buffer.from(`[${samples.join()}]`)
    },
    renew(bytes, device) {
      let time = clocks.get(device) ?? began
      for (let n = 0; n < samplesOfBatch; n++, time += stepMs)
        bytes.write(String(time), 1 + n * stride + timeHead.length, timeDigits, 'latin1')
      clocks.set(device, time)
    },
  }
}

export const payloads: Record<PayloadName, () => Payload> = { note, sample, changing, batch }
