/** Decides which records of a batch or block match a query. */
import { type Columns, correlationIdAt, payloadAt } from '../codec/columns.ts'
import type { Group } from '../codec/groups.ts'

/** Time span in microseconds since 1970: includes `from`, excludes `to`. */
export interface MicrosSpan {
  from: number
  to: number
}

/**
 * The records that a caller with permissions on applications and single endpoints may read. Records of a single endpoint are included only
 * if they are newer than the last unregistration of its id.
 */
export interface Visible {
  applicationNames: ReadonlySet<string>
  endpointIds: ReadonlySet<string>
  /** When each endpoint id was last unregistered, in microseconds since 1970. */
  unregistered: ReadonlyMap<string, number>
  /** Records of these applications are left out, because they are counted separately. */
  exceptApplications?: ReadonlySet<string> | undefined
}

export interface RecordFilter {
  tenantId: string
  span: MicrosSpan
  visible: 'all' | Visible
  endpointIds?: ReadonlySet<string> | undefined
  versionName?: string | undefined
  extension?: string | undefined
  outbound?: boolean | undefined
  payload?: Buffer | undefined
  resourcePath?: string | undefined
  requestId?: number | undefined
  /** Set by the code that writes records, to find its own record. */
  correlationId?: string | undefined
}

/** Returns whether the number of matching records of a unit follows from its counts by group, so that the records need not be decoded. */
export const isAnsweredByGroups = (filter: RecordFilter) =>
  (filter.visible === 'all' || filter.visible.endpointIds.size === 0) &&
  !filter.endpointIds &&
  !filter.payload &&
  !filter.resourcePath &&
  filter.requestId === undefined &&
  filter.correlationId === undefined

type Counted = Pick<Group, 'a' | 'v' | 'x' | 'o'>

export function matchesGroup(filter: RecordFilter, { a, v, x, o }: Counted): boolean {
  if (filter.versionName && v !== filter.versionName) return false
  if (filter.extension && x !== filter.extension) return false
  if (filter.outbound !== undefined && o !== filter.outbound) return false
  if (filter.visible === 'all') return true
  const { endpointIds, applicationNames, exceptApplications } = filter.visible
  return (endpointIds.size > 0 && !exceptApplications?.has(a)) || applicationNames.has(a)
}

export const countOfGroups = (filter: RecordFilter, groups: Group[]) =>
  groups.reduce((sum, group) => (matchesGroup(filter, group) ? sum + group.n : sum), 0)

/** Returns the indexes of the matching records. `endpointIdAt` may return undefined for an endpoint that the filter does not name. */
export function matchingIndexes(
  filter: RecordFilter,
  columns: Columns,
  endpointIdAt: (index: number) => string | undefined,
): number[] {
  const kinds = columns.kinds.map(({ applicationName: a, versionName: v, extension: x, outbound: o }) =>
    matchesGroup(filter, { a, v, x, o }),
  )
  if (!kinds.includes(true) || !mayHavePayload(filter, columns)) return []
  const { span, endpointIds, requestId, resourcePath, payload, correlationId, visible } = filter
  const paths = resourcePath ? columns.texts.map((text) => text.includes(resourcePath)) : undefined
  const found: number[] = []
  for (let index = 0; index < columns.count; index++) {
    if (!kinds[columns.kind[index]!]) continue
    const micros = columns.micros[index]!
    if (micros < span.from || micros >= span.to) continue
    if (requestId !== undefined && columns.requestId[index] !== requestId) continue
    if (paths && !paths[columns.path[index]!]) continue
    if (endpointIds && !endpointIds.has(endpointIdAt(index) ?? '')) continue
    if (visible !== 'all' && !isVisible(visible, columns, index, endpointIdAt)) continue
    if (correlationId !== undefined && correlationIdAt(columns, index) !== correlationId) continue
    if (payload && !(columns.kinds[columns.kind[index]!]!.isText && payloadAt(columns, index).includes(payload)))
      continue
    found.push(index)
  }
  return found
}

/** Returns whether any payload may match. All payloads are searched as one text, which is far faster than searching one by one. */
const mayHavePayload = ({ payload }: RecordFilter, columns: Columns) => !payload || columns.payloads().includes(payload)

function isVisible(
  { applicationNames, endpointIds, unregistered }: Visible,
  columns: Columns,
  index: number,
  endpointIdAt: (index: number) => string | undefined,
): boolean {
  if (applicationNames.has(columns.kinds[columns.kind[index]!]!.applicationName)) return true
  const endpointId = endpointIdAt(index)
  if (endpointId === undefined || !endpointIds.has(endpointId)) return false
  return (unregistered.get(endpointId) ?? Number.NEGATIVE_INFINITY) < columns.micros[index]!
}
