/** Creates a role, also from an existing one (`?from=`), or changes one. */
import type { FormEvent } from 'react'
import { useLocation } from 'wouter'
import { useConditionalChange } from '../../api/conditional-change.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { type GetResult, useChange, useGet, useList } from '../../api/query.ts'
import { text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { CheckList } from '../../parts/check-list.tsx'
import { ConflictDialog } from '../../parts/conflict-dialog.tsx'
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

function RoleForm({ role, isNew }: { role: GetResult<Role>; isNew: boolean }) {
  const create = useChange('roles.create')
  const update = useConditionalChange('roles.update', { data: role.data, etag: role.etag }, role.reload, {
    also: ['me'],
  })
  const change = isNew ? create : update.change
  const first = { name: '', ...valuesOf(role.data) }
  const form = useForm(first, change.problem)
  const options = useScopeOptions(first.scopes)
  const [, navigate] = useLocation()
  const toast = useToast()
  const { name: newName, description, scopes } = form.values
  const name = isNew ? newName : role.data!.name
  const body = { ...(description !== '' && { description }), scopes }
  function finish({ kind }: { kind: string }) {
    if (kind !== 'done') return
    toast(isNew ? texts.created : texts.saved)
    navigate(`/roles/${encodeURIComponent(name)}`)
  }
  async function submit(event: FormEvent) {
    event.preventDefault()
    finish(isNew ? await create.run({ body: { name, ...body } }) : await update.save({ name, body }))
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
      <RoleConflict
        theirs={update.theirs?.data}
        yours={form.values}
        onKeepYours={() => void update.saveMine({ name, body }).then(finish)}
        onTakeTheirs={() => form.set(valuesOf(update.takeTheirs()))}
        onClose={update.close}
      />
    </Card>
  )
}

const valuesOf = (role: Role | undefined) => ({ description: role?.description ?? '', scopes: role?.scopes ?? [] })

interface RoleConflictProps {
  theirs: Role | undefined
  yours: { description: string; scopes: string[] }
  onKeepYours(): void
  onTakeTheirs(): void
  onClose(): void
}

function RoleConflict({ theirs, yours, ...handlers }: RoleConflictProps) {
  const shown = ({ description, scopes }: RoleConflictProps['yours']) => ({ description, scopes: scopes.join(', ') })
  const [left, right] = [shown(valuesOf(theirs)), shown(yours)]
  return (
    <ConflictDialog
      isOpen={theirs !== undefined}
      fields={(['description', 'scopes'] as const).map((name) => ({ name, theirs: left[name], yours: right[name] }))}
      {...handlers}
    />
  )
}
