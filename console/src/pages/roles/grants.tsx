/** Grants: scopes on one resource for a user, role, client or API key. */
import { useState } from 'react'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { useSubjectNames } from '../../api/subject-names.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link } from '../../parts/link.tsx'
import { EmptyState } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { RolesAddress } from './address.ts'
import { NewGrant } from './new-grant.tsx'
import { texts } from './texts.ts'

type Grant = ItemOf<'grants.list'>
type SubjectType = 'user' | 'role' | 'client' | 'api-key'

const pageOf = ({ type, id }: Grant['subject']) =>
  type === 'user'
    ? `/users/${encodeURIComponent(id)}`
    : type === 'role'
      ? `/roles/${encodeURIComponent(id)}`
      : undefined

function Subject({ subject, names }: { subject: Grant['subject']; names: Map<string, string> }) {
  const to = pageOf(subject)
  const name = <Text value={names.get(subject.id) ?? subject.id} max={60} />
  return (
    <>
      <span className="quiet">{texts.subjectTypes[subject.type] ?? subject.type}</span>{' '}
      {to === undefined ? name : <Link to={to}>{name}</Link>}
    </>
  )
}

const columnsOf = (names: Map<string, string>, onDelete: ((grant: Grant) => void) | undefined): Column<Grant>[] => [
  {
    ...{ id: 'subject', title: texts.grantColumns.subject, width: 'minmax(11rem, 1fr)' },
    cell: ({ subject }) => <Subject subject={subject} names={names} />,
  },
  {
    ...{ id: 'resource', title: texts.grantColumns.resource, width: 'minmax(16rem, 2fr)' },
    cell: ({ resource }) => <Text value={resource} max={80} mono />,
  },
  {
    ...{ id: 'scopes', title: texts.grantColumns.scopes, width: 'minmax(14rem, 2fr)' },
    cell: ({ scopes }) => (scopes.includes('*') ? texts.everyScope : <Text value={scopes.join(', ')} max={120} mono />),
  },
  {
    ...{ id: 'created', title: texts.grantColumns.created, width: '9rem' },
    cell: ({ createdAt }) => <Time value={createdAt} />,
  },
  ...(onDelete
    ? [
        {
          ...{ id: 'actions', title: '', width: '4.5rem', align: 'end' as const },
          cell: (grant: Grant) => <IconButton icon="trash" label={texts.grantDelete} onPress={() => onDelete(grant)} />,
        },
      ]
    : []),
]

export function Grants({ address }: { address: RolesAddress }) {
  const [open, setOpen] = useState<'new' | Grant>()
  const { subject, resource } = address.values
  const may = useMay()
  const list = useList('grants.list', {
    ...(subject !== '' && { subjectType: subject as SubjectType }),
    ...(resource !== '' && { resource }),
  })
  const names = useSubjectNames()
  const close = () => setOpen(undefined)
  const create = may('identity:grant:create') && (
    <span data-create="">
      <Button look="primary" icon="plus" onPress={() => setOpen('new')}>
        {texts.newGrant}
      </Button>
    </span>
  )
  const isFiltered = subject !== '' || resource !== ''
  return (
    <>
      <FilterBar
        address={{
          ...address,
          isChanged: isFiltered,
          reset: () => address.set({ subject: '', resource: '' }),
        }}
      >
        <SearchBox label={texts.resourceFilter} value={resource} onChange={(resource) => address.set({ resource })} />
        <SelectField
          label={texts.subjectType}
          value={subject}
          onChange={(subject) => address.set({ subject: subject as SubjectType })}
          options={Object.entries(texts.subjectTypes).map(([value, label]) => ({ value, label }))}
          placeholder={texts.allSubjects}
          isCompact
        />
        <span className="filter-end">{create}</span>
      </FilterBar>
      <DataTable
        label={texts.tabs.grants}
        list={list}
        columns={columnsOf(names, may('identity:grant:delete') ? setOpen : undefined)}
        rowId={({ id }) => id}
        empty={
          <EmptyState
            icon={isFiltered ? 'search' : 'key'}
            title={isFiltered ? texts.noGrantTitle : texts.grantsEmptyTitle}
          >
            {isFiltered ? texts.noGrantText : texts.grantsEmptyText}
          </EmptyState>
        }
      />
      {open === 'new' && <NewGrant resource={resource} onClose={close} />}
      {open !== undefined && open !== 'new' && <DeleteGrant grant={open} onClose={close} />}
    </>
  )
}

function DeleteGrant({ grant: { id, resource }, onClose }: { grant: Grant; onClose(): void }) {
  const change = useChange('grants.delete', { also: ['users', 'access', 'me'] })
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ id })
    if (outcome.kind !== 'done') return
    toast(texts.grantDeleted)
    onClose()
  }
  return (
    <ConfirmDelete
      objectName={texts.grantObjectName(resource.slice(0, 80))}
      also={[]}
      isOpen
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void remove()}
      onClose={onClose}
    />
  )
}
