/** The list of alerts. It is read again when the live stream reports a change of an alert. */
import { useLocation } from 'wouter'
import { useLive } from '../../api/live.ts'
import { useMay } from '../../api/me.ts'
import type { ArgumentsOf, ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { EmptyList } from '../../parts/empty-list.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { AlertState, Severity, type SeverityLevel, severityLevels, severityTexts } from '../../parts/severity.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { settingTexts } from './setting-texts.ts'
import { AlertSettings } from './settings.tsx'
import { texts } from './texts.ts'

type Alert = ItemOf<'alerts.list'>
type Conditions = ArgumentsOf<'alerts.list'>

const states = ['', 'OPEN', 'RESOLVED'] as const
const acknowledgements = ['', 'UNACKNOWLEDGED', 'ACKNOWLEDGED'] as const
const severities = ['', ...severityLevels] as const
const sortKeys = ['-started', 'started', '-active', 'active', '-severity', 'severity'] as const
const apiKeys = { started: 'startedAt', active: 'lastActiveAt', severity: 'severityLevel' } as const

const addressOf = ({ id }: Alert) => `/alerts/${encodeURIComponent(id)}`

const columns: Column<Alert>[] = [
  {
    ...{ id: 'type', title: texts.columns.type, width: 'minmax(8rem, 1.5fr)' },
    cell: (alert) => (
      <Link to={addressOf(alert)}>
        <Text value={alert.alertType} max={80} />
      </Link>
    ),
  },
  {
    ...{ id: 'severity', title: texts.columns.severity, width: '7.5rem', isSortable: true },
    cell: ({ severityLevel }) => <Severity level={severityLevel} />,
  },
  {
    ...{ id: 'state', title: texts.columns.state, width: '9rem' },
    cell: ({ state, acknowledgement }) => <AlertState state={state} acknowledgement={acknowledgement} />,
  },
  {
    ...{ id: 'entity', title: texts.columns.entity },
    cell: ({ entityType, entityId }) =>
      entityType === 'TENANT' ? (
        texts.tenant
      ) : (
        <Link to={`/endpoints/${encodeURIComponent(entityId)}`}>
          <Text value={entityId} max={60} />
        </Link>
      ),
  },
  {
    ...{ id: 'message', title: texts.columns.message, width: 'minmax(8rem, 2fr)' },
    cell: ({ message }) => <Text value={message} max={120} />,
  },
  {
    ...{ id: 'started', title: texts.columns.started, isSortable: true },
    cell: ({ startedAt }) => <Time value={startedAt} />,
  },
  {
    ...{ id: 'active', title: texts.columns.active, isSortable: true },
    cell: ({ lastActiveAt }) => <Time value={lastActiveAt} />,
  },
]

function argumentsOf(values: { q: string; state: string; severity: string; ack: string; sort: string }): Conditions {
  const { q, state, severity, ack, sort } = values
  return {
    ...(q.trim() !== '' && { entityType: 'ENDPOINT', entityIds: q.trim() }),
    ...(state !== '' && { state }),
    ...(severity !== '' && { severityLevel: severity }),
    ...(ack !== '' && { acknowledgement: ack }),
    sort: apiKeys[sort.replace('-', '') as keyof typeof apiKeys],
    sortOrder: sort.startsWith('-') ? 'desc' : 'asc',
    size: 100,
  }
}

const tabIds = ['alerts', 'settings'] as const

export default function AlertsPage() {
  const address = useView()
  const { tab } = address.values
  const may = useMay()
  const tabs = tabIds.filter((id) => id === 'alerts' || may('alert-setting:read'))
  const args = argumentsOf(address.values)
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={tab === 'alerts' ? texts.lead : settingTexts.lead}
        actions={
          <>
            {tab === 'alerts' ? (
              <AsCommand operation="alerts.list" args={args} />
            ) : (
              <AsCommand operation="alertSettings.list" />
            )}
            {tab === 'settings' && may('tenant:alert-setting:create') && (
              <span data-create="">
                <LinkButton to="/alerts/settings/new" look="primary" icon="plus">
                  {settingTexts.create}
                </LinkButton>
              </span>
            )}
          </>
        }
      />
      <Tabs label={texts.tabs.label} current={tab} tabs={tabs.map((id) => ({ id, title: texts.tabs[id] }))}>
        {tab === 'alerts' ? <AlertTable address={address} args={args} /> : <AlertSettings address={address} />}
      </Tabs>
    </>
  )
}

const useView = () =>
  useAddressState({
    tab: oneOf(tabIds, 'alerts'),
    q: text(),
    state: oneOf(states, ''),
    severity: oneOf(severities as readonly ('' | SeverityLevel)[], ''),
    ack: oneOf(acknowledgements, ''),
    sort: oneOf(sortKeys, '-started'),
  })

function AlertTable({ address, args }: { address: ReturnType<typeof useView>; args: Conditions }) {
  const { q, state, severity, ack, sort } = address.values
  const [, navigate] = useLocation()
  const list = useList('alerts.list', args)
  useLive([{ topic: 'alerts' }], { onItems: list.reload, onGap: list.reload })
  const isFiltered = q.trim() !== '' || state !== '' || severity !== '' || ack !== ''
  return (
    <>
      <FilterBar address={address}>
        <SearchBox label={texts.search} value={q} onChange={(q) => address.set({ q })} />
        <Choice
          label={texts.columns.state}
          any={texts.anyState}
          value={state}
          values={texts.states}
          onChange={(value) => address.set({ state: states.find((known) => known === value) ?? '' })}
        />
        <Choice
          label={texts.columns.severity}
          any={texts.anySeverity}
          value={severity}
          values={severityTexts}
          onChange={(value) => address.set({ severity: severityLevels.find((known) => known === value) ?? '' })}
        />
        <Choice
          label={texts.facts.acknowledgement}
          any={texts.anyAcknowledgement}
          value={ack}
          values={texts.acknowledgements}
          onChange={(value) => address.set({ ack: acknowledgements.find((known) => known === value) ?? '' })}
        />
      </FilterBar>
      <DataTable
        label={texts.title}
        list={list}
        columns={columns}
        rowId={({ id }) => id}
        rowName={({ alertType, entityId }) => `${alertType} ${entityId}`}
        onOpen={(row) => navigate(addressOf(row))}
        sort={sort}
        onSort={(sort) => address.set({ sort: sort as (typeof sortKeys)[number] })}
        empty={
          <EmptyList icon="bell" title={texts.emptyTitle} isFiltered={isFiltered} onClear={address.reset}>
            {texts.emptyText}
          </EmptyList>
        }
      />
    </>
  )
}

function Choice({
  label,
  any,
  value,
  values,
  onChange,
}: {
  label: string
  any: string
  value: string
  values: Record<string, string>
  onChange(value: string): void
}) {
  return (
    <SelectField
      label={label}
      value={value === '' ? '*' : value}
      onChange={onChange}
      options={[{ value: '*', label: any }, ...Object.entries(values).map(([value, label]) => ({ value, label }))]}
      isCompact
    />
  )
}
