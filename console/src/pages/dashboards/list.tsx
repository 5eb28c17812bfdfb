/**
 * The list of dashboards. The API searches by text, but cannot filter by owner. The page filters by owner itself, which is possible because
 * a tenant has at most 2,000 dashboards.
 */
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { useMay, useMe } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Button, CancelButton } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Segments } from '../../parts/segments.tsx'
import { cut, Text, withoutInvisible } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { addressOf, DashboardActions, useCreateDashboard } from './actions.tsx'
import { bodyOf } from './definition.ts'
import { contentsOfFile, fileBytesMax } from './files.ts'
import { texts } from './texts.ts'

type Summary = ItemOf<'dashboards.list'>
type Access = 'own' | 'edit' | 'read'

const ownership = ['all', 'own', 'others'] as const
const pageSize = 500

const columnsOf = (accessOf: (dashboard: Summary) => Access): Column<Summary>[] => [
  {
    ...{ id: 'name', title: texts.columns.name, width: 'minmax(12rem, 2.5fr)' },
    cell: ({ dashboardId, name, description }) => (
      <span className="dashboard-name">
        <Link to={addressOf(dashboardId)}>
          <Text value={name} max={80} />
        </Link>
        {description && (
          <small>
            <Text value={description} max={120} />
          </small>
        )}
      </span>
    ),
  },
  {
    ...{ id: 'owner', title: texts.columns.owner },
    cell: ({ owner }) => <Text value={owner.name ?? owner.id} max={60} />,
  },
  {
    ...{ id: 'access', title: texts.columns.access, width: '9rem' },
    cell: (dashboard) => {
      const access = accessOf(dashboard)
      return (
        <Badge tone={access === 'own' ? 'good' : access === 'edit' ? 'info' : 'quiet'}>{texts.access[access]}</Badge>
      )
    },
  },
  { id: 'version', title: texts.columns.version, width: '6rem', align: 'end', cell: ({ version }) => version },
  {
    ...{ id: 'updated', title: texts.columns.updated, width: '9rem' },
    cell: ({ updatedDate }) => <Time value={updatedDate} />,
  },
  {
    ...{ id: 'actions', title: texts.columns.actions, width: '6rem', align: 'end' },
    cell: ({ dashboardId, name }) => (
      <DashboardActions
        dashboardId={dashboardId}
        name={name}
        label={`${texts.columns.actions}: ${withoutInvisible(cut(name, 60).shown)}`}
      />
    ),
  },
]

export default function DashboardsPage() {
  const address = useAddressState({ q: text(), whose: oneOf(ownership, 'all') })
  const { q } = address.values
  const [, navigate] = useLocation()
  const [isImporting, setImporting] = useState(false)
  const { data: me } = useMe()
  const may = useMay()
  const list = useList('dashboards.list', { limit: pageSize, ...(q.trim() !== '' && { search: q.trim() }) })
  const isOwn = ({ owner }: Summary) => owner.type === me?.subject.type && owner.id === me?.subject.id
  const accessOf = (dashboard: Summary): Access =>
    isOwn(dashboard) ? 'own' : may('dashboard:update', `dashboard-${dashboard.dashboardId}`) ? 'edit' : 'read'
  const isChosen = (dashboard: Summary) =>
    address.values.whose === 'all' || isOwn(dashboard) === (address.values.whose === 'own')
  const items = list.items.filter(isChosen)
  const { hasMore, isLoadingMore, loadMore } = list
  // The page itself filters dashboards by owner, so it needs all dashboards.
  useEffect(() => {
    if (address.values.whose !== 'all' && hasMore && !isLoadingMore) loadMore()
  }, [address.values.whose, hasMore, isLoadingMore, loadMore])
  const mayCreate = may('tenant:dashboard:create')
  const createLink = mayCreate && (
    <LinkButton to="/dashboards/new" look="primary" icon="plus">
      {texts.create}
    </LinkButton>
  )
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={
          <>
            <AsCommand operation="dashboards.list" args={q === '' ? {} : { search: q }} />
            {mayCreate && (
              <Button icon="upload" onPress={() => setImporting(true)}>
                {texts.import}
              </Button>
            )}
            <span data-create="">{createLink}</span>
          </>
        }
      />
      <FilterBar address={address}>
        <SearchBox label={texts.search} value={q} onChange={(q) => address.set({ q })} />
        <Segments
          label={texts.show}
          value={address.values.whose}
          onChange={(whose) => address.set({ whose })}
          options={ownership.map((value) => ({ value, label: texts.whose[value] }))}
        />
      </FilterBar>
      <DataTable
        label={texts.title}
        list={{ ...list, items, total: address.values.whose === 'all' ? list.total : items.length }}
        columns={columnsOf(accessOf)}
        rowId={({ dashboardId }) => dashboardId}
        rowName={({ name }) => name}
        onOpen={({ dashboardId }) => navigate(addressOf(dashboardId))}
        empty={
          address.isChanged ? (
            <EmptyState
              icon="search"
              title={texts.noMatchTitle}
              actions={<Button onPress={address.reset}>{texts.clear}</Button>}
            >
              {texts.noMatchText}
            </EmptyState>
          ) : (
            <EmptyState icon="dashboard" title={texts.emptyTitle} actions={createLink}>
              {texts.emptyText}
            </EmptyState>
          )
        }
      />
      {isImporting && <ImportDialog onClose={() => setImporting(false)} />}
    </>
  )
}

function ImportDialog({ onClose }: { onClose(): void }) {
  const create = useCreateDashboard()
  const [file, setFile] = useState<File>()
  const [wrong, setWrong] = useState<string>()
  const toast = useToast()
  async function run() {
    if (!file) return
    const read = file.size > fileBytesMax ? { problem: texts.importTooLarge } : contentsOfFile(await file.text())
    setWrong('problem' in read ? read.problem : undefined)
    if ('problem' in read) return
    if ((await create.open(bodyOf(read.contents))) === undefined) toast(texts.imported)
  }
  return (
    <Dialog
      title={texts.importTitle}
      isOpen
      onClose={onClose}
      actions={
        <>
          <CancelButton onPress={onClose} />
          <Button look="primary" icon="upload" isDisabled={!file} isBusy={create.isRunning} onPress={() => void run()}>
            {texts.importSubmit}
          </Button>
        </>
      }
    >
      <p>{texts.importText}</p>
      <label className="field">
        <span className="field-label">{texts.importFile}</span>
        <input
          className="input"
          type="file"
          accept=".json,application/json"
          onChange={(event) => {
            setWrong(undefined)
            create.reset()
            setFile(event.target.files?.[0])
          }}
        />
      </label>
      {wrong !== undefined && (
        <p className="field-error" role="alert">
          <Text value={wrong} />
        </p>
      )}
      {create.problem && <ErrorNote problem={create.problem} />}
    </Dialog>
  )
}
