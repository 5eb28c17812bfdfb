/** Names and address of a user: shown, and changed in place. */
import { type FormEvent, useState } from 'react'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { Card, Facts } from '../../parts/card.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { ErrorNote } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type User = BodyOf<'users.get'>

export function Profile({ user, mayChange }: { user: User; mayChange: boolean }) {
  const [isEditing, setEditing] = useState(false)
  if (isEditing) return <ProfileForm user={user} onDone={() => setEditing(false)} />
  return (
    <Card
      title={texts.profile}
      actions={
        mayChange && (
          <Button size="small" icon="edit" onPress={() => setEditing(true)}>
            {texts.edit}
          </Button>
        )
      }
    >
      <Facts
        items={[
          [texts.facts.username, <Text key="username" value={user.username} />],
          [texts.facts.firstName, <Text key="first" value={user.firstName} />],
          [texts.facts.lastName, <Text key="last" value={user.lastName} />],
          [texts.facts.email, <Text key="email" value={user.email} />],
          [texts.facts.id, <Text key="id" value={user.id} mono />],
        ]}
      />
    </Card>
  )
}

function ProfileForm({ user, onDone }: { user: User; onDone(): void }) {
  const change = useChange('users.update', { also: ['me'] })
  const { username, email = '', firstName = '', lastName = '' } = user
  const form = useForm({ username, firstName, lastName, email }, change.problem)
  const toast = useToast()
  async function submit(event: FormEvent) {
    event.preventDefault()
    const { values } = form
    // Only what was changed, so that a change of another administrator stays.
    const body = {
      ...(values.username !== username && { username: values.username }),
      ...(values.email !== email && { email: values.email || null }),
      ...(values.firstName !== firstName && { firstName: values.firstName || null }),
      ...(values.lastName !== lastName && { lastName: values.lastName || null }),
    }
    const outcome = await change.run({ id: user.id, body })
    if (outcome.kind !== 'done') return
    toast(texts.saved)
    onDone()
  }
  return (
    <Card title={texts.profile}>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <TextField label={texts.username} {...form.field('username')} isRequired autoFocus />
        <TextField label={texts.firstName} {...form.field('firstName')} />
        <TextField label={texts.lastName} {...form.field('lastName')} />
        <TextField label={texts.email} {...form.field('email')} type="email" />
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          <Button onPress={onDone}>{texts.cancel}</Button>
          <Button look="primary" type="submit" isBusy={change.isRunning}>
            {texts.save}
          </Button>
        </div>
      </form>
    </Card>
  )
}
