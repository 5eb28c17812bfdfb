/** Form that creates or changes a role. A new role can be a copy of an existing role (`?from=`). */
import type { BodyOf } from '../../api/operation-types.ts'
import { type GetResult, useChange, useGet, useList } from '../../api/query.ts'
import { text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Loading } from '../../parts/card.tsx'
import { CheckList } from '../../parts/check-list.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import type { PageProps } from '../page-props.ts'
import { texts } from './texts.ts'

type Role = BodyOf<'roles.get'>
const above = [{ title: texts.title, to: '/roles' }]

export default function RoleEditPage({ params: { name } }: PageProps) {
  const address = useAddressState({ from: text() })
  const { from } = address.values
  const source = name ?? from
  const role = useGet('roles.get', { name: source }, { enabled: source !== '' })
  if (role.isLoading) return <Loading label={texts.loading} />
  return (
    <>
      <PageHeader title={name === undefined ? texts.newTitle : texts.editTitle(name)} above={above} />
      {role.problem && !role.data ? (
        <ErrorNote problem={role.problem} onRetry={() => void role.reload()} />
      ) : (
        <RoleForm role={role} isNew={name === undefined} />
      )}
    </>
  )
}

function useScopeOptions(also: readonly string[]) {
  const { items } = useList('scopes.list', {})
  const known = new Set(items.map(({ scope }) => scope))
  return [
    ...also.filter((scope) => !known.has(scope)).map((scope) => ({ value: scope })),
    ...items
      .filter(({ level }) => level !== 'platform')
      .map(({ scope, sentence }) => ({ value: scope, description: sentence })),
  ]
}

const valuesOf = (role: Role | undefined) => ({ description: role?.description ?? '', scopes: role?.scopes ?? [] })

function RoleForm({ role, isNew }: { role: GetResult<Role>; isNew: boolean }) {
  const create = useChange('roles.create')
  const update = useChange('roles.update', { also: ['me'] })
  const first = { name: '', ...valuesOf(role.data) }
  const form = useForm(first, create.problem ?? update.problem)
  const options = useScopeOptions(first.scopes)
  const { name: newName, description, scopes } = form.values
  const name = isNew ? newName : role.data!.name
  const body = { ...(description !== '' && { description }), scopes }
  return (
    <EditForm
      form={form}
      read={role}
      valuesOf={valuesOf}
      save={async (ifMatch) =>
        isNew ? await create.run({ body: { name, ...body } }) : await update.run({ name, body }, { ifMatch })
      }
      saved={isNew ? texts.created : texts.saved}
      next={`/roles/${encodeURIComponent(name)}`}
      isBusy={create.isRunning || update.isRunning}
      submit={isNew ? texts.submit : texts.save}
      cancel={isNew ? '/roles' : `/roles/${encodeURIComponent(name)}`}
      command={
        isNew ? (
          <AsCommand operation="roles.create" args={{ body: { name, ...body } }} />
        ) : (
          <AsCommand operation="roles.update" args={{ name, body }} />
        )
      }
    >
      {isNew && (
        <TextField label={texts.name} {...form.field('name')} description={texts.nameNote} isRequired autoFocus />
      )}
      <TextField label={texts.description} {...form.field('description')} autoFocus={!isNew} />
      <CheckList label={texts.scopes} options={options} {...form.field('scopes')} description={texts.scopesNote} />
    </EditForm>
  )
}
