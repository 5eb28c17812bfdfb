/** Reads those fields of a pipeline's document that are also stored in columns. */
import { parseDate } from '../query/dates.ts'

type DocumentMap = Map<unknown, unknown>

const envelopeFields = ['tenantId', 'appName', 'appVersionName', 'endpointId']

export const envelopeOf = (source: DocumentMap): unknown[] => envelopeFields.map((name) => source.get(name))

export const isSameEnvelope = (envelope: unknown[], source: DocumentMap): boolean =>
  envelopeFields.every((name, index) => source.get(name) === envelope[index])

/** Returns `@timestamp` in milliseconds, or null if it is not a date. */
export function timestampOf(source: DocumentMap): number | null {
  const value = source.get('@timestamp')
  if (typeof value === 'string') return parseDate(value) ?? null
  if (typeof value === 'number' || typeof value === 'bigint') return parseDate(String(value)) ?? null
  return null
}

const unstorable = /(?:^|[^\\])(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/i

/** Returns why a text cannot be stored: PostgreSQL accepts neither NUL nor lone surrogates. */
export function storageProblem(text: string): string | undefined {
  const isStorable = text.isWellFormed() && !(text.includes('\\u') && unstorable.test(text))
  return isStorable ? undefined : 'the document has a text with NUL or a lone surrogate, which cannot be stored'
}
