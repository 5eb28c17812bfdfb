/** Measures the validation of definitions in threads, compared with a loop that calls the compiled schema itself (the bare validator). */
import { compileSchema } from '../../src/kernel/json-schema/compile.ts'
import { validateJson } from '../../src/kernel/json-schema.ts'
import { type Figure, median } from '../report.ts'

const rounds = 7
const validations = 20_000
/** Number of requests that wait for their validation at the same time, as with many callers. */
const concurrent = 64

const schema = JSON.stringify({
  type: 'object',
  required: ['name', 'serial', 'place', 'parts'],
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 255 },
    serial: { type: 'string', pattern: '^[A-Z]{2}-[0-9]{6}$' },
    installed: { type: 'string', format: 'date-time' },
    place: {
      type: 'object',
      required: ['latitude', 'longitude'],
      properties: {
        latitude: { type: 'number', minimum: -90, maximum: 90 },
        longitude: { type: 'number', minimum: -180, maximum: 180 },
        address: { type: 'string' },
      },
      additionalProperties: false,
    },
    parts: {
      type: 'array',
      maxItems: 100,
      items: {
        type: 'object',
        required: ['id', 'state'],
        properties: {
          id: { type: 'string' },
          state: { enum: ['good', 'worn', 'broken'] },
          hours: { type: 'integer', minimum: 0 },
          note: { type: 'string', maxLength: 500 },
        },
      },
    },
  },
})

/** A definition of about a kilobyte. */
const definitionOf = (n: number) =>
  JSON.stringify({
    name: `Pump ${n}`,
    serial: `PU-${String(n).padStart(6, '0')}`,
    installed: '2026-03-01T08:00:00Z',
    place: { latitude: 50.45, longitude: 30.52, address: 'Khreshchatyk 22, Kyiv' },
    parts: Array.from({ length: 12 }, (_, part) => ({
      id: `part-${part}`,
      state: ['good', 'worn', 'broken'][part % 3],
      hours: 100 * part,
      note: 'checked in spring',
    })),
  })

export async function validation(): Promise<Figure[]> {
  const definitions = Array.from({ length: validations }, (_, n) => definitionOf(n))
  const validate = compileSchema(schema)
  const bare: number[] = []
  const platform: number[] = []
  await inThreads(definitions.slice(0, 2000))
  for (let round = 0; round < rounds; round++) {
    bare.push(
      rateOf(definitions, () => {
        for (const text of definitions) mustBeValid(validate(text).violations.length === 0)
      }),
    )
    const began = performance.now()
    await inThreads(definitions)
    platform.push(definitions.length / ((performance.now() - began) / 1000))
  }
  const ratios = platform.map((rate, round) => rate / bare[round]!)
  return [
    { name: `bare validator, definitions of ${definitions[0]!.length} bytes`, value: median(bare), unit: '/s' },
    { name: 'validation of the platform, in threads', value: median(platform), unit: '/s' },
    { name: '… platform against bare validator', value: median(ratios), unit: 'times', limit: { min: 0.5 } },
  ]
}

function rateOf(definitions: string[], work: () => void): number {
  const began = performance.now()
  work()
  return definitions.length / ((performance.now() - began) / 1000)
}

function mustBeValid(valid: boolean) {
  if (!valid) throw new Error('a definition was refused')
}

/** Validates all definitions of one tenant, with a fixed number of requests at a time. */
async function inThreads(definitions: string[]) {
  let next = 0
  const worker = async () => {
    while (next < definitions.length)
      mustBeValid((await validateJson('bench', schema, definitions[next++]!)) === 'valid')
  }
  await Promise.all(Array.from({ length: concurrent }, worker))
}
