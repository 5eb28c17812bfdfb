/** Converts the query of a filter to rows of conditions, and back. */
import { parseJson } from '../../parts/json-field.tsx'

export interface Condition {
  key: string
  /** Values as typed, separated by commas. */
  values: string
}

type Query = Record<string, unknown>

const versionField = 'application_version'
const isScalar = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value)

/** Parses the entered values. Numbers, true and false keep their type; a value in quotes is a text. */
const valuesOf = (typed: string): unknown[] =>
  typed
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .map((one) => {
      const { value } = parseJson(one)
      return isScalar(value) ? value : one
    })

const typedOf = (values: unknown[]) =>
  values.map((value) =>
    typeof value === 'string' && !isScalar(parseJson(value).value) ? value : JSON.stringify(value),
  )

export function queryOf(conditions: Condition[]): Query {
  const named = conditions.filter(({ key }) => key.trim() !== '')
  return Object.fromEntries(
    named.map(({ key, values }) => {
      const field = key.trim() === versionField ? versionField : `metadata.${key.trim()}`
      const list = valuesOf(values)
      return [field, list.length === 1 ? list[0] : { $in: list }]
    }),
  )
}

/** Returns the rows of a query, or undefined if it has operators that rows cannot show. */
export function conditionsOf(query: Query): Condition[] | undefined {
  const rows: Condition[] = []
  for (const [field, wanted] of Object.entries(query)) {
    const key = field === versionField ? field : /^metadata\.((?!key$|value(?:\.|$)).+)$/.exec(field)?.[1]
    const list = isScalar(wanted)
      ? [wanted]
      : Object.keys(wanted ?? {}).join() === '$in'
        ? (wanted as { $in: unknown[] }).$in
        : undefined
    if (key === undefined || !Array.isArray(list) || !list.every(isScalar)) return undefined
    const typed = typedOf(list)
    if (typed.some((one) => one.includes(','))) return undefined
    rows.push({ key, values: typed.join(', ') })
  }
  return rows
}

/** Returns the same conditions as criteria for the search of endpoints, which counts the matches. */
export const criteriaOf = (conditions: Condition[]) =>
  conditions
    .filter(({ key }) => key.trim() !== '')
    .map(({ key, values }) => ({
      key: key.trim() === versionField ? 'appVersion.name' : key.trim(),
      operator: 'IN',
      values: valuesOf(values),
    }))
