/** Creates a user. Changes of a user are made on its page. */
import type { FormEvent } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import { useChange, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { CheckList } from '../../parts/check-list.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { useToast } from '../../parts/toast.tsx'
import { roleOptions } from './roles.tsx'
import { texts } from './texts.ts'

const empty = { username: '', email: '', firstName: '', lastName: '', password: '', roles: [] as string[] }

export default function NewUserPage() {
  const may = useMay()
  const mayRoles = may('identity:role:read')
  const roles = useList('roles.list', { limit: 0 }, { enabled: mayRoles })
  const create = useChange('users.create')
  const form = useForm(empty, create.problem)
  const [, navigate] = useLocation()
  const toast = useToast()
  const { username, roles: chosen, ...rest } = form.values
  const filledFields = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== ''))
  const body = { username, ...filledFields, ...(chosen.length > 0 && { roles: chosen }) }
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = await create.run({ body })
    if (outcome.kind !== 'done') return
    toast(texts.created)
    navigate(`/users/${encodeURIComponent(outcome.body.id)}`)
  }
  return (
    <>
      <PageHeader title={texts.newTitle} above={[{ title: texts.title, to: '/users' }]} />
      <Card>
        <form className="form" onSubmit={(event) => void submit(event)}>
          <TextField
            label={texts.username}
            {...form.field('username')}
            description={texts.usernameNote}
            isRequired
            autoFocus
          />
          <TextField label={texts.firstName} {...form.field('firstName')} />
          <TextField label={texts.lastName} {...form.field('lastName')} />
          <TextField label={texts.email} {...form.field('email')} type="email" />
          <TextField
            label={texts.firstPassword}
            {...form.field('password')}
            description={texts.firstPasswordNote}
            type="password"
            autoComplete="new-password"
          />
          {mayRoles && (
            <CheckList
              label={texts.rolesLabel}
              options={roleOptions(roles.items)}
              {...form.field('roles')}
              description={texts.rolesNote}
            />
          )}
          {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
          <div className="form-actions">
            <AsCommand
              operation="users.create"
              args={{ body: 'password' in body ? { ...body, password: '…' } : body }}
            />
            <LinkButton to="/users">{texts.cancel}</LinkButton>
            <Button look="primary" type="submit" isBusy={create.isRunning}>
              {texts.submit}
            </Button>
          </div>
        </form>
      </Card>
    </>
  )
}
