/** Software versions of an application, and the versions that its endpoints run. */
import { useLocation } from 'wouter'
import { useApplicationChoice } from '../../api/application-choice.ts'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { formatBytes } from '../../parts/amounts.tsx'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { endpointStates, SoftwareEndpoints } from './endpoints.tsx'
import { formTexts } from './form-texts.ts'
import { RolloutState } from './state.tsx'
import { texts } from './texts.ts'

type Software = ItemOf<'software.list'>

const addressOf = ({ appName, version }: Software) =>
  `/software/${encodeURIComponent(appName)}/${encodeURIComponent(version)}`

const columns: Column<Software>[] = [
  {
    ...{ id: 'version', title: texts.columns.version, width: 'minmax(9rem, 1fr)' },
    cell: (software) => (
      <>
        <Link to={addressOf(software)}>
          <Text value={software.version} max={60} />
        </Link>{' '}
        {software.warnings.length > 0 && <Badge tone="warn">{texts.warnings(software.warnings.length)}</Badge>}
      </>
    ),
  },
  {
    ...{ id: 'rollout', title: texts.columns.rollout, width: '11rem' },
    cell: ({ rolloutState, rolloutStrategy }) => <RolloutState state={rolloutState} strategy={rolloutStrategy} />,
  },
  {
    ...{ id: 'strategy', title: texts.columns.strategy, width: '12rem' },
    cell: ({ rolloutStrategy }) => texts.strategies[rolloutStrategy],
  },
  {
    ...{ id: 'from', title: texts.columns.from, width: 'minmax(9rem, 1.5fr)' },
    cell: ({ upgradableFrom }) =>
      upgradableFrom.length === 0 ? texts.start : <Text value={upgradableFrom.join(', ')} max={100} />,
  },
  {
    ...{ id: 'file', title: texts.columns.file, width: '8rem', align: 'end' },
    cell: ({ fileSize }) => (fileSize === undefined ? texts.noFile : formatBytes(fileSize)),
  },
  { ...{ id: 'updated', title: texts.columns.updated }, cell: ({ updatedDate }) => <Time value={updatedDate} /> },
]

const tabIds = ['versions', 'endpoints'] as const
const useView = () =>
  useAddressState({
    tab: oneOf(tabIds, 'versions'),
    application: text(),
    state: oneOf(endpointStates, 'all'),
    endpoint: text(),
  })

export default function SoftwarePage() {
  const address = useView()
  const choice = useApplicationChoice(address)
  const may = useMay()
  const { tab } = address.values
  const { application } = choice
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={
          <>
            <AsCommand
              operation={tab === 'versions' ? 'software.list' : 'software.endpoints.list'}
              args={{ appName: application }}
            />
            {application !== '' && may('application:software:update', `application-${application}`) && (
              <span data-create>
                <LinkButton to={`/software/${encodeURIComponent(application)}/new`} look="primary" icon="plus">
                  {formTexts.create}
                </LinkButton>
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
        <Tabs
          label={texts.tabs.label}
          current={tab}
          keep={['application']}
          tabs={tabIds.map((id) => ({ id, title: texts.tabs[id] }))}
        >
          <FilterBar address={{ ...address, isChanged: false }}>
            <SelectField
              label={texts.application}
              value={application}
              onChange={(application) => address.set({ application })}
              options={choice.options}
              isCompact
            />
          </FilterBar>
          {application !== '' && tab === 'versions' && <VersionTable appName={application} />}
          {application !== '' && tab === 'endpoints' && <SoftwareEndpoints appName={application} address={address} />}
        </Tabs>
      )}
    </>
  )
}

function VersionTable({ appName }: { appName: string }) {
  const list = useList('software.list', { appName })
  const [, navigate] = useLocation()
  return (
    <DataTable
      label={texts.title}
      // The platform lists the lowest version first. The page reverses the order, because users look for the newest version.
      list={{ ...list, items: list.items.toReversed() }}
      columns={columns}
      rowId={({ version }) => version}
      onOpen={(row) => navigate(addressOf(row))}
      empty={
        <EmptyState icon="package" title={texts.emptyTitle}>
          {texts.emptyText}
        </EmptyState>
      }
    />
  )
}
