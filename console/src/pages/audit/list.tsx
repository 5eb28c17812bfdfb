/** The audit log: searches records by time, caller, operation, object and status, and can follow new records. */
import { type ReactNode, useState } from 'react'
import type { ArgumentsOf, ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Facts } from '../../parts/card.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField, SwitchField } from '../../parts/fields.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { EmptyState } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { texts } from './texts.ts'

type AuditRecord = ItemOf<'auditRecords.list'>

const followMs = 3_000
const periods = ['now-1h', 'now-1d', 'now-7d', 'now-30d', 'all'] as const
const statuses = ['', '200', '201', '204', '403', '500'] as const

const actorOf = ({ actorType, actorName, actorId }: AuditRecord) =>
  actorName ?? actorId ?? (actorType === 'system' ? texts.system : texts.unknown)

function Status({ record: { status, operation } }: { record: AuditRecord }) {
  const login = texts.logins[operation]
  if (login !== undefined) return <Badge tone={operation === 'logins.succeeded' ? 'good' : 'bad'}>{login}</Badge>
  if (status === undefined) return <Badge tone="warn">{texts.noAnswer}</Badge>
  return <Badge tone={status < 400 ? 'good' : 'bad'}>{texts.outcomeOf(status)}</Badge>
}

const columns: Column<AuditRecord>[] = [
  { ...{ id: 'at', title: texts.columns.at, width: '8.5rem' }, cell: ({ at }) => <Time value={at} /> },
  {
    ...{ id: 'actor', title: texts.columns.actor, width: 'minmax(8rem, 1fr)' },
    cell: (record) => <Text value={actorOf(record)} max={60} />,
  },
  {
    ...{ id: 'operation', title: texts.columns.operation, width: 'minmax(13rem, 1.5fr)' },
    cell: ({ operation, count }) => (
      <>
        <Text value={operation} max={80} mono />
        {count > 1 && <span className="quiet"> · {texts.times(count)}</span>}
      </>
    ),
  },
  {
    ...{ id: 'resource', title: texts.columns.resource, width: 'minmax(12rem, 2fr)' },
    cell: ({ resource }) => <Text value={resource} max={120} mono />,
  },
  {
    ...{ id: 'status', title: texts.columns.status, width: '7.5rem' },
    cell: (record) => <Status record={record} />,
  },
  {
    ...{ id: 'address', title: texts.columns.address, width: '8rem' },
    cell: ({ address }) => <Text value={address} max={45} />,
  },
]

const addressKeys = {
  period: oneOf(periods, 'now-7d'),
  actor: text(),
  operation: text(),
  resource: text(),
  status: oneOf(statuses, ''),
  follow: oneOf(['on', 'off'], 'off'),
}

export default function AuditPage() {
  const address = useAddressState(addressKeys)
  const { period, actor, operation, resource, status, follow } = address.values
  const [shown, setShown] = useState<AuditRecord>()
  const args: ArgumentsOf<'auditRecords.list'> = {
    ...(period !== 'all' && { from: period }),
    ...(actor !== '' && { actor }),
    ...(operation !== '' && { operation }),
    ...(resource !== '' && { resource }),
    ...(status !== '' && { status: Number(status) }),
  }
  const list = useList('auditRecords.list', args, follow === 'on' ? { refreshMs: followMs } : {})
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={<AsCommand operation="auditRecords.list" args={args as Record<string, unknown>} />}
      />
      <FilterBar address={address}>
        <SelectField
          label={texts.period}
          value={period}
          onChange={(period) => address.set({ period: period as (typeof periods)[number] })}
          options={periods.map((value) => ({ value, label: texts.periods[value]! }))}
          isCompact
        />
        <SearchBox label={texts.actor} value={actor} onChange={(actor) => address.set({ actor })} />
        <SearchBox label={texts.operation} value={operation} onChange={(operation) => address.set({ operation })} />
        <SearchBox label={texts.resource} value={resource} onChange={(resource) => address.set({ resource })} />
        <SelectField
          label={texts.outcome}
          value={status}
          onChange={(status) => address.set({ status: status as (typeof statuses)[number] })}
          options={statuses.filter(Boolean).map((value) => ({ value, label: texts.statuses[value]! }))}
          placeholder={texts.anyOutcome}
          isCompact
        />
        <SwitchField
          label={texts.live}
          value={follow === 'on'}
          onChange={(isOn) => address.set({ follow: isOn ? 'on' : 'off' })}
        />
      </FilterBar>
      <DataTable
        label={texts.title}
        list={list}
        columns={columns}
        rowId={({ id }) => id}
        rowName={({ operation }) => operation}
        onOpen={(record) => setShown(record)}
        empty={
          <EmptyState icon="scroll" title={texts.emptyTitle}>
            {texts.emptyText}
          </EmptyState>
        }
      />
      {shown && (
        <RecordDialog
          record={shown}
          onClose={() => setShown(undefined)}
          onFilter={(changed) => {
            address.set(changed)
            setShown(undefined)
          }}
        />
      )}
    </>
  )
}

interface RecordProps {
  record: AuditRecord
  onClose(): void
  onFilter(changed: { actor?: string; operation?: string; resource?: string }): void
}

function RecordDialog({ record, onClose, onFilter }: RecordProps) {
  const { actorId, resource, operation } = record
  return (
    <Dialog
      title={texts.details}
      isOpen
      onClose={onClose}
      size="wide"
      actions={
        <>
          {actorId && <Button onPress={() => onFilter({ actor: actorId })}>{texts.onlyActor}</Button>}
          {resource && <Button onPress={() => onFilter({ resource })}>{texts.onlyObject}</Button>}
          <Button onPress={() => onFilter({ operation })}>{texts.onlyOperation}</Button>
        </>
      }
    >
      <Facts
        items={[
          [texts.facts.at, <Time key="at" value={record.at} style="full" />],
          [texts.facts.operation, <Text key="operation" value={operation} mono />],
          [texts.facts.resource, <Text key="resource" value={resource} max={1000} mono />],
          [texts.facts.status, <Status key="status" record={record} />],
          ...(record.status === undefined ? [] : [[texts.facts.httpStatus, record.status] as [string, ReactNode]]),
          [texts.facts.actor, <Text key="actor" value={actorOf(record)} />],
          [texts.facts.kind, <Text key="kind" value={record.actorType} />],
          ...(record.actorTenantId
            ? [[texts.facts.tenant, <Text key="tenant" value={record.actorTenantId} />] as [string, ReactNode]]
            : []),
          [texts.facts.address, <Text key="address" value={record.address} mono />],
          [texts.facts.fields, <Text key="fields" value={record.fields?.join(', ')} max={1000} mono />],
          [texts.facts.correlationId, <Text key="correlation" value={record.correlationId} mono />],
        ]}
      />
    </Dialog>
  )
}
