/** Names and address of a user: shown, and changed in place. */
import { type FormEvent, useState } from 'react'
import { useConditionalChange } from '../../api/conditional-change.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import type { GetResult } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { Card, Facts } from '../../parts/card.tsx'
import { ConflictDialog } from '../../parts/conflict-dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { ErrorNote } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type User = BodyOf<'users.get'>

interface ProfileProps {
  user: User
  etag: string | undefined
  readAgain: GetResult<User>['reload']
  mayChange: boolean
}

export function Profile(props: ProfileProps) {
  const { user, mayChange } = props
  const [isEditing, setEditing] = useState(false)
  if (isEditing) return <ProfileForm {...props} onDone={() => setEditing(false)} />
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

const fields = ['username', 'firstName', 'lastName', 'email'] as const
type Values = Record<(typeof fields)[number], string>

const valuesOf = ({ username, firstName = '', lastName = '', email = '' }: User): Values => ({
  ...{ username, firstName, lastName, email },
})

function ProfileForm({ user, etag, readAgain, onDone }: ProfileProps & { onDone(): void }) {
  const { base, theirs, save, saveMine, takeTheirs, close, change } = useConditionalChange(
    'users.update',
    { data: user, etag },
    readAgain,
    { also: ['me'] },
  )
  const form = useForm(valuesOf(base.data), change.problem)
  const toast = useToast()
  const { values } = form
  /** Has what was changed only. */
  const bodyOver = (before: Values) => ({
    ...(values.username !== before.username && { username: values.username }),
    ...(values.email !== before.email && { email: values.email || null }),
    ...(values.firstName !== before.firstName && { firstName: values.firstName || null }),
    ...(values.lastName !== before.lastName && { lastName: values.lastName || null }),
  })
  function finish({ kind }: { kind: string }) {
    if (kind !== 'done') return
    toast(texts.saved)
    onDone()
  }
  async function submit(event: FormEvent) {
    event.preventDefault()
    finish(await save({ id: user.id, body: bodyOver(valuesOf(base.data)) }))
  }
  const theirValues = theirs && valuesOf(theirs.data)
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
      <ConflictDialog
        isOpen={theirs !== undefined}
        fields={fields.map((name) => ({ name, theirs: theirValues?.[name] ?? '', yours: values[name] }))}
        onKeepYours={() => void saveMine({ id: user.id, body: bodyOver(theirValues!) }).then(finish)}
        onTakeTheirs={() => form.set(valuesOf(takeTheirs()))}
        onClose={close}
      />
    </Card>
  )
}
