/** Creates a role, also from an existing one (`?from=`), or changes one. */
import type { FormEvent } from 'react'
import { useLocation } from 'wouter'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { CheckList } from '../../parts/check-list.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../registry.ts'
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
      {role.problem ? (
        <ErrorNote problem={role.problem} onRetry={() => void role.reload()} />
      ) : (
        <RoleForm role={role.data} isNew={name === undefined} />
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

function RoleForm({ role, isNew }: { role: Role | undefined; isNew: boolean }) {
  const create = useChange('roles.create')
  const update = useChange('roles.update', { also: ['me'] })
  const change = isNew ? create : update
  const first = { name: '', description: role?.description ?? '', scopes: role?.scopes ?? [] }
  const form = useForm(first, change.problem)
  const options = useScopeOptions(first.scopes)
  const [, navigate] = useLocation()
  const toast = useToast()
  const { name: newName, description, scopes } = form.values
  const name = isNew ? newName : role!.name
  const body = { ...(description !== '' && { description }), scopes }
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = isNew ? await create.run({ body: { name, ...body } }) : await update.run({ name, body })
    if (outcome.kind !== 'done') return
    toast(isNew ? texts.created : texts.saved)
    navigate(`/roles/${encodeURIComponent(name)}`)
  }
  return (
    <Card>
      <form className="form" onSubmit={(event) => void submit(event)}>
        {isNew && (
          <TextField label={texts.name} {...form.field('name')} description={texts.nameNote} isRequired autoFocus />
        )}
        <TextField label={texts.description} {...form.field('description')} autoFocus={!isNew} />
        <CheckList label={texts.scopes} options={options} {...form.field('scopes')} description={texts.scopesNote} />
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          {isNew ? (
            <AsCommand operation="roles.create" args={{ body: { name, ...body } }} />
          ) : (
            <AsCommand operation="roles.update" args={{ name, body }} />
          )}
          <LinkButton to={isNew ? '/roles' : `/roles/${encodeURIComponent(name)}`}>{texts.cancel}</LinkButton>
          <Button look="primary" type="submit" isBusy={change.isRunning}>
            {isNew ? texts.submit : texts.save}
          </Button>
        </div>
      </form>
    </Card>
  )
}
