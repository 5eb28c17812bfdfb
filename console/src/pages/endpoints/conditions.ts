/** The conditions of the list of endpoints: reads the conditions from the address, and converts them to arguments of the API. */
import type { ArgumentsOf } from '../../api/operation-types.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'

export const connections = ['connected', 'disconnected', 'never'] as const
export const activities = ['1h', '1d', '7d', 'silent-1h', 'silent-1d', 'silent-7d'] as const
export const sortKeys = [
  ...['id', '-id', 'name', '-name', 'activity', '-activity', 'created', '-created'],
] as unknown as readonly ['id', '-id', 'name', '-name', 'activity', '-activity', 'created', '-created']
const apiKeys = { id: 'endpointId', name: 'name', activity: 'lastActivity', created: 'createdDate' }

export type Connection = (typeof connections)[number]
type DirectoryArguments = ArgumentsOf<'endpoints.directory.list'>
export type Conditions = Pick<
  DirectoryArguments,
  | 'search'
  | 'applicationName'
  | 'applicationVersionName'
  | 'connection'
  | 'activeAfter'
  | 'activeBefore'
  | 'filterId'
  | 'metadataFilter'
>

export const useConditions = () =>
  useAddressState({
    q: text(),
    application: text(),
    version: text(),
    connection: oneOf(['', ...connections], ''),
    activity: oneOf(['', ...activities], ''),
    filter: text(),
    where: text(),
    sort: oneOf(sortKeys, '-created'),
  })

export type ConditionValues = ReturnType<typeof useConditions>['values']

export function conditionsOf(values: Omit<ConditionValues, 'sort'>): Conditions {
  const { q, application, version, connection, activity, filter, where } = values
  const age = activity.replace('silent-', '')
  const isSilent = activity.startsWith('silent-')
  return {
    ...(q !== '' && { search: q }),
    ...(application !== '' && { applicationName: application }),
    ...(version !== '' && { applicationVersionName: version }),
    ...(connection !== '' && { connection }),
    ...(activity !== '' && { [isSilent ? 'activeBefore' : 'activeAfter']: `now-${age}` }),
    ...(filter !== '' && { filterId: filter }),
    ...(where !== '' && { metadataFilter: where }),
  }
}

export const sortOf = (sort: string) => ({
  sort: apiKeys[sort.replace('-', '') as keyof typeof apiKeys],
  sortOrder: sort.startsWith('-') ? ('desc' as const) : ('asc' as const),
})

type Select = ArgumentsOf<'jobs.deletions.create'>['body']['select']

/** Returns the selection for a job from the conditions of the list. The text of the metadata filter becomes an object. */
export function selectOf(conditions: Conditions): Select {
  const { filterId, metadataFilter, ...others } = conditions
  const select = {
    ...others,
    ...(filterId !== undefined && { filterIds: [filterId].flat() as string[] }),
    ...(metadataFilter !== undefined && { metadataFilter: objectOf(metadataFilter) }),
  }
  return Object.keys(select).length === 0 ? { all: true } : (select as Select)
}

/** Parses a JSON object. A text that is not JSON is sent unchanged, because the error of the platform names the field. */
function objectOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    return text as unknown as Record<string, unknown>
  }
}
