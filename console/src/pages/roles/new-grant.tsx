/** Creates a grant in a dialog. */
import type { FormEvent } from 'react'
import { useMay } from '../../api/me.ts'
import { useChange, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button, CancelButton } from '../../parts/button.tsx'
import { CheckList } from '../../parts/check-list.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { ErrorNote } from '../../parts/notes.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type SubjectType = 'user' | 'role' | 'client' | 'api-key'

/** Returns the subjects of a kind that the caller may list. */
function useSubjects(type: SubjectType): { value: string; label: string }[] {
  const may = useMay()
  const all = { limit: 0 }
  const users = useList('users.list', all, { enabled: type === 'user' && may('identity:user:read') })
  const roles = useList('roles.list', all, { enabled: type === 'role' && may('identity:role:read') })
  const clients = useList('clients.list', all, { enabled: type === 'client' && may('identity:client:read') })
  const keys = useList('apiKeys.list', all, { enabled: type === 'api-key' && may('identity:api-key:read') })
  switch (type) {
    case 'user':
      return users.items.map(({ id, username }) => ({ value: id, label: username.slice(0, 80) }))
    case 'role':
      return roles.items.map(({ name }) => ({ value: name, label: name }))
    case 'client':
      return clients.items.map(({ id }) => ({ value: id, label: id }))
    case 'api-key':
      return keys.items.map(({ id, name }) => ({ value: id, label: name.slice(0, 80) }))
  }
}

export function NewGrant({ resource, onClose }: { resource: string; onClose(): void }) {
  const create = useChange('grants.create', { also: ['users', 'access', 'me'] })
  const form = useForm(
    { type: 'user' as SubjectType, id: '', resource: resource || 'application-', scopes: [] as string[] },
    create.problem,
  )
  const { type, id, scopes } = form.values
  const subjects = useSubjects(type)
  const catalogue = useList('scopes.list', {})
  const toast = useToast()
  const body = { subject: { type, id }, resource: form.values.resource, scopes }
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = await create.run({ body })
    if (outcome.kind !== 'done') return
    toast(texts.grantMade)
    onClose()
  }
  return (
    <Dialog title={texts.newGrant} isOpen onClose={onClose} size="wide">
      <form className="form" onSubmit={(event) => void submit(event)}>
        <SelectField
          label={texts.subjectType}
          name="subject.type"
          value={type}
          onChange={(type) => form.set({ type: type as SubjectType, id: '' })}
          options={Object.entries(texts.subjectTypes).map(([value, label]) => ({ value, label }))}
          isRequired
        />
        <SelectField
          label={texts.who}
          {...form.field('id')}
          name="subject.id"
          options={subjects}
          placeholder={texts.choose}
          isRequired
        />
        <TextField
          label={texts.resource}
          {...form.field('resource')}
          description={texts.resourceNote}
          isRequired
          mono
        />
        <CheckList
          label={texts.scopes}
          options={catalogue.items
            .filter(({ level }) => level === 'resource')
            .map(({ scope, sentence }) => ({ value: scope, description: sentence }))}
          {...form.field('scopes')}
          description={texts.scopesNote}
        />
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          <AsCommand operation="grants.create" args={{ body }} />
          <CancelButton onPress={onClose} />
          <Button look="primary" type="submit" isBusy={create.isRunning}>
            {texts.grant}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
