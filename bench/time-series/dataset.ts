/** The samples for the platform and its peers: five values with two decimals at regular intervals, like the values of sensors. */

export interface Dataset {
  endpoints: number
  points: number
  stepMs: number
  /** Time of the first step; `began` by default. */
  from?: number
}

export const fields = ['temperature', 'humidity', 'pressure', 'voltage', 'level']

/** A fleet of many endpoints with short series. */
export const fleet: Dataset = { endpoints: 1000, points: 1000, stepMs: 60_000 }
/** 100 series of a few days. */
export const plant: Dataset = { endpoints: 20, points: 50_000, stepMs: 10_000 }

export const valuesOf = ({ endpoints, points }: Dataset) => endpoints * points * fields.length

/** The time of the first sample: the start of a UTC day, 30 days ago, so that all samples are in the past. */
export const began = Math.floor(Date.now() / 86_400_000 - 30) * 86_400_000
export const timeOf = ({ stepMs, from = began }: Dataset, step: number) => from + step * stepMs

/** Returns noise from -0.5 to 0.5 that differs for each value, because repeated values would compress too well. */
function noise(endpoint: number, step: number, field: number): number {
  let mixed = Math.imul(endpoint * 8 + field + 1, 0x9e3779b1) ^ Math.imul(step + 1, 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39)
  return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32 - 0.5
}

const rounded = (value: number) => Math.round(value * 100) / 100

/** Returns the values of `fields` at a step: slow waves with noise, a nearly constant voltage, and a level that falls and is refilled. */
export function valuesAt(endpoint: number, step: number): number[] {
  const wave = Math.sin(step / 300 + endpoint)
  return [
    rounded(20 + 5 * wave + 0.5 * noise(endpoint, step, 0)),
    rounded(45 - 10 * wave + noise(endpoint, step, 1)),
    rounded(1013.25 + 3 * wave + 0.3 * noise(endpoint, step, 2)),
    rounded(3.6 + 0.06 * noise(endpoint, step, 3)),
    rounded(90 - (step % 500) * 0.1 + 0.2 * noise(endpoint, step, 4)),
  ]
}

export const endpointIdOf = (endpoint: number) => `bench-device${String(endpoint).padStart(6, '0')}`

const linesOfWrite = 5000

/** Yields line protocol in the order in which a fleet sends: all endpoints at a step, then the next step. */
export function* linesOf(dataset: Dataset): Generator<string> {
  let lines: string[] = []
  for (let step = 0; step < dataset.points; step++)
    for (let endpoint = 0; endpoint < dataset.endpoints; endpoint++) {
      const values = valuesAt(endpoint, step)
      const pairs = fields.map((field, index) => `${field}=${values[index]}`)
      lines.push(`bench,endpoint=${endpointIdOf(endpoint)} ${pairs.join()} ${timeOf(dataset, step)}`)
      if (lines.length < linesOfWrite) continue
      yield lines.join('\n')
      lines = []
    }
  if (lines.length > 0) yield lines.join('\n')
}
