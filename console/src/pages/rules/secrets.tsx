/** Creates, replaces and deletes secrets of scripts. The value of a secret is sent to the platform and never shown. */
import { type FormEvent, useState } from 'react'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import type { AddressState } from '../../parts/address-state.ts'
import { Button, CancelButton, IconButton } from '../../parts/button.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { EmptyList } from '../../parts/empty-list.tsx'
import { TextField } from '../../parts/fields.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { useForm } from '../../parts/form.ts'
import { ErrorNote } from '../../parts/notes.tsx'
import { cut, Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { libraryTexts as texts } from './library-texts.ts'

type Secret = ItemOf<'secrets.list'>

const columns: Column<Secret>[] = [
  {
    ...{ id: 'name', title: texts.columns.name, width: 'minmax(10rem, 1.5fr)' },
    cell: ({ name }) => <Text value={name} max={100} mono />,
  },
  {
    ...{ id: 'description', title: texts.columns.description, width: 'minmax(10rem, 2fr)' },
    cell: ({ description }) => <Text value={description} max={120} />,
  },
  { ...{ id: 'created', title: texts.columns.created }, cell: ({ createdAt }) => <Time value={createdAt} /> },
  { ...{ id: 'updated', title: texts.columns.updated }, cell: ({ updatedAt }) => <Time value={updatedAt} /> },
]

interface SecretsProps {
  address: AddressState<{ q: string }>
  isCreating: boolean
  onCreating(isCreating: boolean): void
}

export function Secrets({ address, isCreating, onCreating }: SecretsProps) {
  const { q } = address.values
  const may = useMay()
  const [edited, setEdited] = useState<Secret>()
  const [secretToDelete, setSecretToDelete] = useState<Secret>()
  const list = useList('secrets.list', {
    ...(q.trim() !== '' && { name: q.trim() }),
    ...{ sort: 'updatedAt', sortOrder: 'desc', size: 100 },
  })
  const actions: Column<Secret> = {
    ...{ id: 'actions', title: texts.columns.actions, width: '7rem', align: 'end' },
    cell: (secret) => (
      <>
        {may('secret:update', `secret-${secret.id}`) && (
          <IconButton icon="edit" label={texts.changeSecret(secret.name)} onPress={() => setEdited(secret)} />
        )}
        {may('secret:delete', `secret-${secret.id}`) && (
          <IconButton icon="trash" label={texts.deleteSecret(secret.name)} onPress={() => setSecretToDelete(secret)} />
        )}
      </>
    ),
  }
  const mayChange = may('secret:update') || may('secret:delete')
  return (
    <>
      <FilterBar address={{ ...address, isChanged: q !== '', reset: () => address.set({ q: '' }) }}>
        <SearchBox label={texts.searchName} value={q} onChange={(q) => address.set({ q })} />
      </FilterBar>
      <DataTable
        label={texts.secrets}
        list={list}
        columns={mayChange ? [...columns, actions] : columns}
        rowId={({ id }) => id}
        rowName={({ name }) => name}
        empty={
          <EmptyList
            icon="lock"
            title={texts.noSecretsTitle}
            isFiltered={q.trim() !== ''}
            onClear={() => address.set({ q: '' })}
            actions={
              may('tenant:secret:create') && (
                <Button icon="plus" onPress={() => onCreating(true)}>
                  {texts.newSecret}
                </Button>
              )
            }
          >
            {texts.noSecretsText}
          </EmptyList>
        }
      />
      {isCreating && <SecretDialog secret={undefined} onClose={() => onCreating(false)} />}
      {edited && <SecretDialog secret={edited} onClose={() => setEdited(undefined)} />}
      {secretToDelete && <DeleteSecret secret={secretToDelete} onClose={() => setSecretToDelete(undefined)} />}
    </>
  )
}

function SecretDialog({ secret, onClose }: { secret: Secret | undefined; onClose(): void }) {
  const create = useChange('secrets.create')
  const update = useChange('secrets.update')
  const first = { name: secret?.name ?? '', value: '', description: secret?.description ?? '' }
  const form = useForm(first, create.problem ?? update.problem)
  const toast = useToast()
  const { name, value, description } = form.values
  async function submit(event: FormEvent) {
    event.preventDefault()
    // Only the changed fields are sent, so that changes of another caller stay. The API has no ETag for secrets that would detect such
    // changes.
    const changed = {
      ...(name !== first.name && { name }),
      ...(value !== '' && { value }),
      ...(description !== first.description && { description }),
    }
    const outcome = secret
      ? await update.run({ secretId: secret.id, body: changed })
      : await create.run({ body: { name, value, ...(description !== '' && { description }) } })
    if (outcome.kind !== 'done') return
    toast(secret ? texts.secretSaved : texts.secretCreated)
    onClose()
  }
  return (
    <Dialog title={secret ? texts.changeSecret(cut(secret.name, 80).shown) : texts.newSecret} isOpen onClose={onClose}>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <TextField
          label={texts.secretName}
          {...form.field('name')}
          description={texts.secretNameNote}
          isRequired
          mono
          autoFocus={!secret}
        />
        <TextField
          label={texts.value}
          {...form.field('value')}
          description={secret ? texts.newValueNote : texts.valueNote}
          type="password"
          autoComplete="new-password"
          isRequired={!secret}
          autoFocus={secret !== undefined}
        />
        <TextField label={texts.description} {...form.field('description')} lines={2} />
        <p className="quiet">
          {texts.usageNote} <code>{texts.usage(name || '…')}</code>
        </p>
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          <CancelButton onPress={onClose} />
          <Button look="primary" type="submit" isBusy={create.isRunning || update.isRunning}>
            {secret ? texts.save : texts.create}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function DeleteSecret({ secret: { id, name }, onClose }: { secret: Secret; onClose(): void }) {
  const change = useChange('secrets.delete')
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ secretId: id })
    if (outcome.kind !== 'done') return
    toast(texts.secretDeleted)
    onClose()
  }
  return (
    <ConfirmDelete
      objectName={texts.secretObjectName(name)}
      isOpen
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void remove()}
      onClose={onClose}
    />
  )
}
