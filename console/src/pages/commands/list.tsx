/** The commands of an application, by state, and a form that sends a command. */
import { useState } from 'react'
import { useApplicationChoice } from '../../api/application-choice.ts'
import { useMay } from '../../api/me.ts'
import type { ArgumentsOf, ItemOf } from '../../api/operation-types.ts'
import { useGet, useList } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { SendCommand } from './send.tsx'
import { texts } from './texts.ts'

type Command = ItemOf<'commands.ofApplication.list'>
type State = keyof typeof texts.states

const states = Object.keys(texts.states) as State[]
const sortKeys = ['-created', 'created', '-updated', 'updated'] as const
const tones: Record<State, Tone> = { ALL: 'quiet', PENDING: 'info', SUCCEEDED: 'good', FAILED: 'bad', EXPIRED: 'warn' }
const refreshMs = 5_000

/** Returns the state to show. An executed command has failed if its result has a status of 400 or more, and has succeeded otherwise. */
const stateOf = ({ status, statusCode = 0 }: Command): State =>
  status === 'EXECUTED' ? (statusCode >= 400 ? 'FAILED' : 'SUCCEEDED') : status

const columns: Column<Command>[] = [
  {
    ...{ id: 'type', title: texts.columns.type, width: 'minmax(8rem, 1fr)' },
    cell: ({ commandType, commandId }) => <Text value={`${commandType} ${commandId}`} max={80} mono />,
  },
  {
    ...{ id: 'endpoint', title: texts.columns.endpoint },
    cell: ({ endpointId }) => (
      <Link to={`/endpoints/${encodeURIComponent(endpointId)}?tab=commands`}>
        <Text value={endpointId} max={60} />
      </Link>
    ),
  },
  {
    ...{ id: 'state', title: texts.columns.state, width: '8rem' },
    cell: (command) => <Badge tone={tones[stateOf(command)]}>{texts.states[stateOf(command)]}</Badge>,
  },
  {
    ...{ id: 'payload', title: texts.columns.payload },
    cell: ({ requestPayload }) => <Text value={requestPayload} max={120} mono />,
  },
  {
    ...{ id: 'result', title: texts.columns.result, width: 'minmax(8rem, 1.5fr)' },
    cell: ({ statusCode, reasonPhrase, responsePayload }) => (
      <>
        <Text value={statusCode} /> <Text value={responsePayload ?? reasonPhrase ?? ' '} max={120} mono />
      </>
    ),
  },
  {
    ...{ id: 'created', title: texts.columns.created, isSortable: true },
    cell: ({ createdAt }) => <Time value={createdAt} />,
  },
  {
    ...{ id: 'updated', title: texts.columns.updated, isSortable: true },
    cell: ({ updatedAt }) => <Time value={updatedAt} />,
  },
]

const useView = () =>
  useAddressState({
    application: text(),
    types: text(),
    state: oneOf(states, 'ALL'),
    sort: oneOf(sortKeys, '-created'),
  })

export default function CommandsPage() {
  const address = useView()
  const choice = useApplicationChoice(address)
  const [isSending, setSending] = useState(false)
  const may = useMay()
  const maySend = may('endpoint:update')
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={
          <>
            <AsCommand operation="commands.ofApplication.list" args={{ applicationName: choice.application }} />
            {maySend && !choice.isEmpty && (
              <span data-create="">
                <Button look="primary" icon="send" onPress={() => setSending(true)}>
                  {texts.send}
                </Button>
              </span>
            )}
          </>
        }
      />
      {choice.problem && <ErrorNote problem={choice.problem} onRetry={choice.reload} />}
      {choice.isEmpty ? (
        <EmptyState
          icon="layers"
          title={texts.noApplicationTitle}
          actions={<LinkButton to="/applications">{texts.createApplication}</LinkButton>}
        >
          {texts.noApplicationText}
        </EmptyState>
      ) : (
        <CommandTable address={address} choice={choice} />
      )}
      {isSending && <SendCommand onClose={() => setSending(false)} />}
    </>
  )
}

interface CommandTableProps {
  address: ReturnType<typeof useView>
  choice: ReturnType<typeof useApplicationChoice>
}

function CommandTable({ address, choice: { application, options } }: CommandTableProps) {
  const { types, state, sort } = address.values
  const ofTypes = {
    applicationName: application,
    ...(types.trim() !== '' && { commandTypes: types.replaceAll(' ', '') }),
  }
  const args: ArgumentsOf<'commands.ofApplication.list'> = {
    ...{ ...ofTypes, size: 100 },
    ...(state !== 'ALL' && { state }),
    sort: `${sort.replace('-', '')}At,${sort.startsWith('-') ? 'desc' : 'asc'}`,
  }
  const list = useList('commands.ofApplication.list', args, { enabled: application !== '', refreshMs })
  const counts = useGet('commands.ofApplication.counts.get', ofTypes, { enabled: application !== '', refreshMs })
  const countOf = (one: State) =>
    counts.data?.[one === 'ALL' ? 'total' : (one.toLowerCase() as 'pending' | 'succeeded' | 'failed' | 'expired')]
  const isFiltered = types.trim() !== '' || state !== 'ALL'
  return (
    <>
      <FilterBar address={address}>
        <SelectField
          label={texts.application}
          value={application}
          onChange={(application) => address.set({ application })}
          options={options}
          isCompact
        />
        <SearchBox label={texts.search} value={types} onChange={(types) => address.set({ types })} />
        <Segments
          label={texts.state}
          options={states.map((value) => ({
            ...{ value, label: texts.states[value] },
            count: countOf(value),
          }))}
          value={state}
          onChange={(state) => address.set({ state })}
        />
      </FilterBar>
      <DataTable
        label={texts.title}
        list={list}
        columns={columns}
        rowId={({ endpointId, commandId }) => `${endpointId} ${commandId}`}
        rowName={({ commandType, endpointId }) => `${commandType} ${endpointId}`}
        sort={sort}
        onSort={(sort) => address.set({ sort: sort as (typeof sortKeys)[number] })}
        empty={
          isFiltered ? (
            <EmptyState
              icon="search"
              title={texts.noMatchTitle}
              actions={<Button onPress={() => address.set({ types: '', state: 'ALL' })}>{texts.clear}</Button>}
            >
              {texts.noMatchText}
            </EmptyState>
          ) : (
            <EmptyState icon="send" title={texts.emptyTitle}>
              {texts.emptyText}
            </EmptyState>
          )
        }
      />
    </>
  )
}
