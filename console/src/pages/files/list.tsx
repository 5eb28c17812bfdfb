/** Files and blobs of an application: search, upload, preview, download by a signed link, deletion. */
import { useState } from 'react'
import { useApplicationChoice } from '../../api/application-choice.ts'
import { useMay } from '../../api/me.ts'
import { useChange, useList } from '../../api/query.ts'
import { type AddressState, oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { formatBytes } from '../../parts/amounts.tsx'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button, IconButton } from '../../parts/button.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { EmptyList } from '../../parts/empty-list.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Segments } from '../../parts/segments.tsx'
import { cut, Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { type Item, useDownload } from './item.ts'
import { Preview } from './preview.tsx'
import { texts } from './texts.ts'
import { UploadDialog } from './upload.tsx'

const kinds = ['files', 'blobs'] as const
const sortKeys = ['-created', 'created'] as const

const useView = () =>
  useAddressState({
    application: text(),
    kind: oneOf(kinds, 'files'),
    q: text(),
    endpoint: text(),
    sort: oneOf(sortKeys, '-created'),
  })
type View = ReturnType<typeof useView>

export default function FilesPage() {
  const address = useView()
  const choice = useApplicationChoice(address)
  const { application } = choice
  const { kind, endpoint } = address.values
  const may = useMay()
  const [isUploading, setUploading] = useState(false)
  const args = argumentsOf(address.values, application)
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={
          <>
            <AsCommand operation={kind === 'files' ? 'files.list' : 'blobs.list'} args={args} />
            {application !== '' && may('endpoint:update') && (
              <span data-create="">
                <Button look="primary" icon="upload" onPress={() => setUploading(true)}>
                  {texts.upload}
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
        <>
          <Conditions address={address} application={application} options={choice.options} />
          {application !== '' && <ItemTable address={address} application={application} />}
        </>
      )}
      {isUploading && (
        <UploadDialog appName={application} firstEndpoint={endpoint.trim()} onClose={() => setUploading(false)} />
      )}
    </>
  )
}

interface ConditionsProps {
  address: View
  application: string
  options: { value: string; label: string }[]
}

const Conditions = ({ address, application, options }: ConditionsProps) => (
  <FilterBar address={address}>
    <SelectField
      label={texts.application}
      value={application}
      onChange={(application) => address.set({ application })}
      options={options}
      isCompact
    />
    <Segments
      label={texts.kind}
      options={kinds.map((value) => ({ value, label: texts.kinds[value] }))}
      value={address.values.kind}
      onChange={(kind) => address.set({ kind })}
    />
    <SearchBox label={texts.search} value={address.values.q} onChange={(q) => address.set({ q })} />
    <SearchBox
      label={texts.endpoint}
      value={address.values.endpoint}
      onChange={(endpoint) => address.set({ endpoint })}
    />
  </FilterBar>
)

const argumentsOf = ({ q, endpoint, sort }: View['values'], appName: string) => ({
  appName,
  ...(q.trim() !== '' && { name: q.trim() }),
  ...(endpoint.trim() !== '' && { endpointId: endpoint.trim() }),
  sort: sort === 'created' ? ('ASC' as const) : ('DESC' as const),
  limit: 100,
})

const columns: Column<Item>[] = [
  {
    ...{ id: 'name', title: texts.columns.name, width: 'minmax(12rem, 2fr)' },
    cell: ({ name }) => <Text value={name} max={120} />,
  },
  {
    ...{ id: 'endpoint', title: texts.columns.endpoint, width: 'minmax(9rem, 1fr)' },
    cell: ({ endpointId }) => (
      <Link to={`/endpoints/${encodeURIComponent(endpointId)}?tab=files`}>
        <Text value={endpointId} max={60} />
      </Link>
    ),
  },
  {
    ...{ id: 'size', title: texts.columns.size, width: '7rem', align: 'end' },
    cell: ({ size }) => (size === undefined ? <Text value={undefined} /> : formatBytes(size)),
  },
  {
    ...{ id: 'created', title: texts.columns.created, width: '10rem', isSortable: true },
    cell: ({ createdDate }) => <Time value={createdDate} />,
  },
]

const updated: Column<Item> = {
  ...{ id: 'updated', title: texts.columns.updated, width: '10rem' },
  cell: ({ createdDate, updatedDate }) =>
    updatedDate === createdDate ? <span className="quiet">{texts.never}</span> : <Time value={updatedDate} />,
}

function ItemTable({ address, application }: { address: AddressState<View['values']>; application: string }) {
  const { kind, q, endpoint, sort } = address.values
  const args = argumentsOf(address.values, application)
  const files = useList('files.list', args, { enabled: kind === 'files' })
  const blobs = useList('blobs.list', args, { enabled: kind === 'blobs' })
  const list: Omit<typeof files, 'items'> & { items: Item[] } = kind === 'files' ? files : blobs
  const [shown, setShown] = useState<Item>()
  const [itemToDelete, setItemToDelete] = useState<Item>()
  const download = useDownload(application)
  const may = useMay()
  const actions: Column<Item> = {
    ...{ id: 'actions', title: texts.columns.actions, width: '9rem', align: 'end' },
    cell: (item) => {
      const name = cut(item.name, 60).shown
      const mayDelete = may('endpoint:update', `application-${application}`, `endpoint-${item.endpointId}`)
      return (
        <>
          <IconButton icon="eye" label={texts.preview(name)} onPress={() => setShown(item)} />
          <IconButton icon="download" label={texts.download(name)} onPress={() => void download(item)} />
          {mayDelete && <IconButton icon="trash" label={texts.remove(name)} onPress={() => setItemToDelete(item)} />}
        </>
      )
    },
  }
  return (
    <>
      <DataTable
        label={texts.title}
        list={list}
        columns={[...columns, ...(kind === 'files' ? [updated] : []), actions]}
        rowId={({ id, name, endpointId }) => id ?? `${endpointId}/${name}`}
        rowName={({ name }) => cut(name, 60).shown}
        onOpen={(item) => setShown(item)}
        sort={sort}
        onSort={(sort) => address.set({ sort: sort as (typeof sortKeys)[number] })}
        empty={
          <EmptyList
            icon="file"
            title={texts.emptyTitle[kind]}
            isFiltered={q.trim() !== '' || endpoint.trim() !== ''}
            onClear={() => address.set({ q: '', endpoint: '' })}
          >
            {texts.emptyText}
          </EmptyList>
        }
      />
      {shown && <Preview appName={application} item={shown} onClose={() => setShown(undefined)} />}
      {itemToDelete && (
        <DeleteItem appName={application} item={itemToDelete} onClose={() => setItemToDelete(undefined)} />
      )}
    </>
  )
}

function DeleteItem({ appName, item, onClose }: { appName: string; item: Item; onClose(): void }) {
  const { id, name, endpointId } = item
  const removeFile = useChange('files.delete')
  const removeBlob = useChange('blobs.delete')
  const toast = useToast()
  async function remove() {
    const outcome =
      id === undefined
        ? await removeFile.run({ appName, endpointId, filename: name })
        : await removeBlob.run({ appName, endpointId, blobId: id })
    if (outcome.kind !== 'done') return
    toast(texts.deleted)
    onClose()
  }
  const shownName = cut(name, 80).shown
  return (
    <ConfirmDelete
      objectName={id === undefined ? texts.objectName(shownName) : texts.blobObjectName(shownName)}
      isOpen
      isBusy={removeFile.isRunning || removeBlob.isRunning}
      problem={removeFile.problem ?? removeBlob.problem}
      onConfirm={() => void remove()}
      onClose={onClose}
    />
  )
}
