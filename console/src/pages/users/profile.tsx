/** Shows the names and the e-mail address of a user, with a form to change them. */
import { useState } from 'react'
import type { BodyOf } from '../../api/operation-types.ts'
import { type GetResult, useChange } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { Card, Facts } from '../../parts/card.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { Text } from '../../parts/text.tsx'
import { texts } from './texts.ts'

type User = BodyOf<'users.get'>

interface ProfileProps {
  user: User
  read: GetResult<User>
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

const valuesOf = ({ username, firstName = '', lastName = '', email = '' }: User) => ({
  ...{ username, firstName, lastName, email },
})

function ProfileForm({ user, read, onDone }: ProfileProps & { onDone(): void }) {
  const change = useChange('users.update', { also: ['me'] })
  const form = useForm(valuesOf(user), change.problem)
  const { username, firstName, lastName, email } = form.values
  const body = { username, firstName: firstName || null, lastName: lastName || null, email: email || null }
  return (
    <EditForm
      title={texts.profile}
      form={form}
      read={read}
      valuesOf={valuesOf}
      save={(ifMatch) => change.run({ id: user.id, body }, { ifMatch })}
      saved={texts.saved}
      next={() => {
        onDone()
        return undefined
      }}
      isBusy={change.isRunning}
      submit={texts.save}
      cancel={onDone}
    >
      <TextField label={texts.username} {...form.field('username')} isRequired autoFocus />
      <TextField label={texts.firstName} {...form.field('firstName')} />
      <TextField label={texts.lastName} {...form.field('lastName')} />
      <TextField label={texts.email} {...form.field('email')} type="email" />
    </EditForm>
  )
}
