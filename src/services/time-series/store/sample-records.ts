/**
 * SQL statements that read samples that are not packed yet. COPY returns the records of all samples as one byte string, without converting
 * it to text. COPY has no parameters, so the statements contain the endpoint numbers and times as text.
 */
import type { Db, Sql } from '../../../kernel/db.ts'
import { numberBytes, recordHeadBytes } from '../record.ts'
import type { SeriesSet } from './numbers.ts'
import { floatsIn, floatsInPlace, type Part, type Size } from './reading.ts'

/** Selects samples: endpoints, sets, series and a time range. */
export interface SamplePart extends Omit<Part, 'seriesIds'> {
  sets: SeriesSet[]
  selectedSeries: number[]
  /** True if records contain only the values of the selected series, in order. */
  isNarrow: boolean
}

/** The columns of some samples, which are in no particular order. */
export interface SampleRows {
  /** The records of all samples, one after the other. */
  records: Float64Array
  /** Absent if there is only one set. */
  setIds: Float64Array | undefined
  /** The slot and the number in the order of writes of each sample. Present only with the option `withOrder`. */
  slots: Float64Array | undefined
  writtenTimes: Float64Array | undefined
  /** The values that are not numbers: one JSON text for each sample with such values. Null if there are none or none were requested. */
  others: string[] | null
  /** Total bytes of the long texts that are missing in `others`. 0 if all texts were requested, or no texts. */
  longBytes: number
}

export interface ColumnOptions {
  /** True if `slot` and `written`, which define the order of writes, are read too. They are needed only for samples with the same time. */
  withOrder: boolean
  /** The texts to read. `short` also returns the size of the long texts, so that these can be read in small parts afterwards. */
  texts: 'none' | 'short' | 'all'
}

export interface SampleOptions extends ColumnOptions {
  limit: number
}

/** Finds up to `limit` samples. Returns undefined if there are no samples. */
export async function findSamples(db: Db, part: SamplePart, options: SampleOptions): Promise<SampleRows | undefined> {
  const rows = `${selectFrom(part, options)} where ${isInPart(part)} limit ${options.limit}`
  return await readRows(db, part, options, rows)
}

/**
 * Finds the first samples of one endpoint, or the last if the order is descending. Planner settings are changed, because the planner has no
 * statistics of recent samples and would sort instead of using the index.
 */
export async function findFirstSamples(
  db: Db,
  part: SamplePart,
  options: SampleOptions & { descending: boolean },
): Promise<SampleRows | undefined> {
  const order = `order by ts ${options.descending ? 'desc' : 'asc'} limit ${options.limit}`
  const useIndex = "select set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)"
  return await readRows(db, part, options, `${selectFrom(part, options)} where ${isInPart(part)} ${order}`, useIndex)
}

/** Finds the samples of a single time. If several samples have the same set, returns the sample that was written last. */
export async function findSamplesAt(db: Db, part: SamplePart): Promise<SampleRows | undefined> {
  const rows = `
    select distinct on (endpoint_no, set_id) record, set_id, x, slot, written
    from time_series.samples where ${isInPart(part)}
    order by endpoint_no, set_id, slot desc, written desc`
  return await readRows(db, part, { withOrder: true, texts: 'all' }, rows)
}

/** Counts the samples of each endpoint. */
export async function countSamples(sql: Sql, { endpointNos, from, to, sets }: SamplePart): Promise<Size[]> {
  return await sql`
    select endpoint_no as key, count(*)::float8 as points from time_series.samples
    where endpoint_no = any(${endpointNos}::bigint[])
      and ts between ${from} and ${to} and set_id = any(${sets.map(({ setId }) => setId)}::integer[])
    group by endpoint_no`
}

/** Returns the select list. It has only the columns that are needed, because each column takes 30 ns for a sample. */
function selectFrom({ sets, isNarrow }: SamplePart, { withOrder, texts }: ColumnOptions): string {
  const columns = [
    'record',
    ...(sets.length > 1 || isNarrow ? ['set_id'] : []),
    ...(texts === 'none' ? [] : ['x']),
    ...(withOrder ? ['slot', 'written'] : []),
  ]
  return `select ${columns.join(', ')} from time_series.samples`
}

const isInPart = ({ endpointNos, from, to, sets }: SamplePart) =>
  `${isAnyOf('endpoint_no', endpointNos, 'bigint')} and ts between ${whole(from)} and ${whole(to)}
    and ${isAnyOf(
      'set_id',
      sets.map(({ setId }) => setId),
      'integer',
    )}`

const isAnyOf = (column: string, numbers: number[], type: string) =>
  numbers.length === 1 ? `${column} = ${whole(numbers[0]!)}` : `${column} = any('{${numbers.map(whole)}}'::${type}[])`

/** Returns a whole number as text for a statement. Throws for any other value. */
function whole(number: number): string {
  if (!Number.isSafeInteger(number)) throw new Error(`${number} is not a whole number`)
  return String(number)
}

/** Texts up to this length, such as states, are read with the numbers. */
const longBytesMin = 256
/** Separates JSON texts, which contain no line breaks. Parsing a PostgreSQL array of long texts would take a hundred times as long. */
const separator = '\n'

async function readRows(
  db: Db,
  { sets, selectedSeries, isNarrow }: SamplePart,
  { withOrder, texts }: ColumnOptions,
  rows: string,
  before?: string,
): Promise<SampleRows | undefined> {
  const hasOther = isNarrow ? `(${bySet(sets, selectedSeries, isAnyOther)})` : 'true'
  const columns = {
    records: `string_agg(${isNarrow ? bySet(sets, selectedSeries, narrowRecord) : 'record'}, '')`,
    ...(sets.length > 1 && { setIds: `string_agg(float8send(set_id), '')` }),
    ...(withOrder && {
      slots: `string_agg(float8send(slot), '')`,
      writtenTimes: `string_agg(float8send(written), '')`,
    }),
    ...(texts === 'all' && { others: `string_agg(x, E'\\n') filter (where x is not null and ${hasOther})` }),
    ...(texts === 'short' && {
      others: `string_agg(x, E'\\n') filter (where octet_length(x) <= ${longBytesMin} and ${hasOther})`,
      longBytes: `sum(octet_length(x)) filter (where octet_length(x) > ${longBytesMin} and ${hasOther})::float8`,
    }),
  }
  const copy = `copy (select ${Object.values(columns).join(', ')} from (${rows}) s) to stdout (format binary)`
  const [block] = await db.copyOut(before ? `${before}; ${copy}` : copy)
  const fields = fieldsOfRow(block!)
  const byName = new Map(Object.keys(columns).map((name, index) => [name, fields[index]]))
  const floats = (name: string) => {
    const bytes = byName.get(name)
    return bytes ? floatsIn(bytes) : undefined
  }
  const records = byName.get('records')
  if (!records) return undefined
  return {
    // `floatsInPlace` overwrites some bytes before the column. It is the first column, so these bytes are only the head of the row.
    records: floatsInPlace(records),
    setIds: floats('setIds'),
    slots: floats('slots'),
    writtenTimes: floats('writtenTimes'),
    others: byName.get('others')?.toString().split(separator) ?? null,
    longBytes: floats('longBytes')?.[0] ?? 0,
  }
}

/** Returns an SQL expression that depends on the set of a sample. `positions` are the positions of the selected values in the record. */
function bySet(sets: SeriesSet[], selectedSeries: number[], expression: (positions: number[]) => string): string {
  const cases = sets.map(({ setId, seriesIds }) => {
    const indexes = selectedSeries.map((seriesId) => seriesIds.indexOf(seriesId)).filter((index) => index >= 0)
    return `when ${whole(setId)} then ${expression(indexes.map((index) => recordHeadBytes + index * numberBytes + 1))}`
  })
  return `case set_id ${cases.join(' ')} end`
}

const valueAt = (position: number) => `substring(record from ${position} for ${numberBytes})`

const narrowRecord = (positions: number[]) =>
  [`substring(record for ${recordHeadBytes})`, ...positions.map(valueAt)].join(' || ')

/** The bytes of NaN, which stands for a value that is not a number. */
const otherBytes = "'\\x7ff8000000000000'"

const isAnyOther = (positions: number[]) =>
  positions.map((position) => `${valueAt(position)} = ${otherBytes}`).join(' or ')

/** Bytes before the first row of a binary COPY. */
const copyHeadBytes = 19

/** Returns the columns of the only row of a binary COPY. The row is in the first block. */
function fieldsOfRow(output: Buffer): (Buffer | undefined)[] {
  const count = output.readInt16BE(copyHeadBytes)
  const fields: (Buffer | undefined)[] = []
  let offset = copyHeadBytes + 2
  for (let index = 0; index < count; index++) {
    const length = output.readInt32BE(offset)
    offset += 4
    fields.push(length < 0 ? undefined : output.subarray(offset, offset + length))
    offset += Math.max(0, length)
  }
  return fields
}
