/**
 * Which series a sample is made into: the configuration of instance `epts` (document 3, part 3), read once for each version
 * that talks. What people wrote wrongly is said with its place, not guessed.
 */
export type ValueType = 'number' | 'string' | 'boolean'

export interface PlannedValue {
  path: string[]
  name: string
  type: ValueType | undefined
}

export interface PlannedSeries {
  name: string
  values: PlannedValue[]
}

export type TimeFormat = 'millis-unix-epoch' | 'unix-epoch' | 'iso8601' | 'any'

export interface Plan {
  auto: boolean
  series: PlannedSeries[]
  time: { path: string[]; format: TimeFormat; fallback: 'server-timestamp' | 'fail' }
}

export const defaultValueName = 'value'
export const seriesName = /^[A-Za-z0-9_-]{1,255}$/
const forbiddenInValueName = /[\\^$"'=,]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: fields are joined with two of them, see fieldOf and numbers.ts
const controls = /[\u0000-\u001f\u007f]/
const reservedValueNames = new Set(['time', 'kaaEndpointID', 'kaaEmpty', '_field', '_measurement'])
const formats: readonly string[] = ['millis-unix-epoch', 'unix-epoch', 'iso8601']
const types: readonly string[] = ['number', 'string', 'boolean']

/** For names that come from people; those that devices make up are matched by `seriesName`. */
export function valueNameProblem(name: string): string | undefined {
  if (name.length === 0 || name.length > 255) return 'must have 1 to 255 characters'
  if (controls.test(name)) return 'must not contain control characters'
  if (forbiddenInValueName.test(name)) return 'must not contain any of \\ ^ $ " \' = ,'
  return reservedValueNames.has(name) ? 'is a reserved name' : undefined
}

export interface PlanProblem {
  place: string
  problem: string
}

/** The plan, and what of the configuration could not be understood; such parts are left out. */
export function planOf(configuration: Record<string, unknown>): { plan: Plan; problems: PlanProblem[] } {
  const problems: PlanProblem[] = []
  const wrong = (place: string, problem: string) => void problems.push({ place, problem })
  const given = objectOf(configuration['time-series'])
  const auto = given['auto-extract']
  if (auto !== undefined && typeof auto !== 'boolean') wrong('auto-extract', 'expected true or false')
  const series = Object.entries(objectOf(given.names)).flatMap(([name, entry]) => {
    if (!seriesName.test(name)) {
      wrong(`names.${name}`, 'expected letters, digits, dash and underscore')
      return []
    }
    const values = valuesOf(objectOf(entry).values, `names.${name}.values`, wrong)
    return values.length > 0 ? [{ name, values }] : []
  })
  return { plan: { auto: auto !== false, series, time: timeOf(given.timestamp, wrong) }, problems }
}

type Wrong = (place: string, problem: string) => void

function valuesOf(given: unknown, place: string, wrong: Wrong): PlannedValue[] {
  if (!Array.isArray(given)) {
    wrong(place, 'expected a list')
    return []
  }
  const taken = new Set<string>()
  return given.flatMap((entry, index) => {
    const { path, name = defaultValueName, type } = objectOf(entry)
    const at = `${place}[${index}]`
    if (typeof path !== 'string' || path === '') wrong(`${at}.path`, 'expected a path such as location.lat')
    else if (typeof name !== 'string') wrong(`${at}.name`, 'expected text')
    else if (valueNameProblem(name)) wrong(`${at}.name`, valueNameProblem(name)!)
    else if (taken.has(name)) wrong(`${at}.name`, `${name} occurs twice in the series`)
    else if (type !== undefined && !types.includes(type as string)) wrong(`${at}.type`, `expected ${types.join(', ')}`)
    else {
      taken.add(name)
      return [{ path: partsOf(path), name, type: type as ValueType | undefined }]
    }
    return []
  })
}

function timeOf(given: unknown, wrong: Wrong): Plan['time'] {
  const usual: Plan['time'] = { path: ['timestamp'], format: 'any', fallback: 'server-timestamp' }
  if (given === undefined) return usual
  const { path = 'timestamp', format = 'any', 'fallback-strategy': fallback = 'server-timestamp' } = objectOf(given)
  if (typeof path !== 'string' || path === '') wrong('timestamp.path', 'expected a path such as ts')
  else if (format !== 'any' && !formats.includes(format as string))
    wrong('timestamp.format', `expected ${formats.join(', ')}`)
  else if (fallback !== 'server-timestamp' && fallback !== 'fail')
    wrong('timestamp.fallback-strategy', 'expected server-timestamp or fail')
  else return { path: partsOf(path), format: format as TimeFormat, fallback }
  return usual
}

const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}

/** `a.b[0]` and `$.a.b.0` alike. */
function partsOf(path: string): string[] {
  const bare = path.startsWith('$.') ? path.slice(2) : path
  return bare.replace(/\[(\d+)\]/g, '.$1').split('.')
}
