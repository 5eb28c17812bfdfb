/** All jobs of all services, with their progress. */
import { useLocation } from 'wouter'
import type { ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { oneOf, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { FilterBar } from '../../parts/filter-bar.tsx'
import { ItemProgress } from '../../parts/item-progress.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import { Time } from '../../parts/time.tsx'
import { Owner } from './owner.tsx'
import { type JobState, StateBadge } from './state.tsx'
import { texts } from './texts.ts'

type Job = ItemOf<'jobs.list'>

const states = Object.keys(texts.states) as JobState[]
const refreshMs = 3_000
const addressOf = ({ jobId }: Job) => `/jobs/${encodeURIComponent(jobId)}`

const columns: Column<Job>[] = [
  {
    ...{ id: 'title', title: texts.columns.title, width: 'minmax(11rem, 2fr)' },
    cell: (job) => (
      <Link to={addressOf(job)}>
        <Text value={job.title} max={80} />
      </Link>
    ),
  },
  {
    ...{ id: 'state', title: texts.columns.state, width: 'minmax(7rem, 0.7fr)' },
    cell: ({ state, counts }) => <StateBadge state={state} failed={counts.failed} />,
  },
  {
    ...{ id: 'progress', title: texts.columns.progress, width: 'minmax(12rem, 1.5fr)' },
    cell: ({ title, counts }) => <ItemProgress label={texts.progressOf(title)} {...counts} total={counts.total} />,
  },
  {
    ...{ id: 'failed', title: texts.columns.failed, width: 'minmax(5rem, 0.5fr)', align: 'end' },
    cell: ({ counts }) => count(counts.failed),
  },
  {
    ...{ id: 'application', title: texts.columns.application, width: 'minmax(8rem, 1fr)' },
    cell: ({ applicationName }) => <Text value={applicationName} max={60} />,
  },
  {
    ...{ id: 'owner', title: texts.columns.owner, width: 'minmax(9rem, 1fr)' },
    cell: ({ owner }) => <Owner owner={owner} />,
  },
  {
    ...{ id: 'created', title: texts.columns.created, width: '9rem' },
    cell: ({ createdDate }) => <Time value={createdDate} />,
  },
]

export default function JobsPage() {
  const address = useAddressState({ state: oneOf(['', ...states], ''), own: oneOf(['', 'yes'], '') })
  const { state, own } = address.values
  const [, navigate] = useLocation()
  const args = { ...(state !== '' && { state }), ...(own === 'yes' && { own: true }) }
  const list = useList('jobs.list', args, { refreshMs })
  return (
    <>
      <PageHeader title={texts.title} lead={texts.lead} actions={<AsCommand operation="jobs.list" args={args} />} />
      <FilterBar address={address}>
        <Segments
          label={texts.state}
          value={state}
          onChange={(state) => address.set({ state })}
          options={[{ value: '', label: texts.all }, ...states.map((value) => ({ value, label: texts.states[value] }))]}
        />
        <Segments
          label={texts.whose}
          value={own}
          onChange={(own) => address.set({ own })}
          options={[
            { value: '', label: texts.everyones },
            { value: 'yes', label: texts.own },
          ]}
        />
      </FilterBar>
      <DataTable
        label={texts.title}
        list={list}
        columns={columns}
        rowId={({ jobId }) => jobId}
        rowName={({ title }) => title}
        onOpen={(job) => navigate(addressOf(job))}
        empty={
          address.isChanged ? (
            <EmptyState
              icon="search"
              title={texts.emptyTitle}
              actions={<Button onPress={address.reset}>{texts.clear}</Button>}
            >
              {texts.noMatch}
            </EmptyState>
          ) : (
            <EmptyState
              icon="list"
              title={texts.emptyTitle}
              actions={<LinkButton to="/endpoints">{texts.toEndpoints}</LinkButton>}
            >
              {texts.empty}
            </EmptyState>
          )
        }
      />
    </>
  )
}
