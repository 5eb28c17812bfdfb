/**
 * Changes description, user name and SSH key of a VPN client: three operations. The form calls only the operations whose field has changed.
 */
import type { FormEvent } from 'react'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange } from '../../api/query.ts'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { ErrorNote } from '../../parts/notes.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type VpnClient = BodyOf<'vpnClients.get'>['data']

export function ClientForm({ client, onDone }: { client: VpnClient; onDone(): void }) {
  const description = useChange('vpnClients.description.update')
  const username = useChange('vpnClients.username.update')
  const sshKey = useChange('vpnClients.sshKey.update')
  const first = { description: client.description, username: client.username ?? '', sshKey: '' }
  const form = useForm(first, description.problem ?? username.problem ?? sshKey.problem)
  const toast = useToast()
  const { values } = form
  async function submit(event: FormEvent) {
    event.preventDefault()
    const vpnclientID = client.id
    const outcomes = [
      values.description !== first.description &&
        (await description.run({ vpnclientID, body: { description: values.description } })),
      values.username !== first.username && (await username.run({ vpnclientID, body: { username: values.username } })),
      values.sshKey !== '' && (await sshKey.run({ vpnclientID, body: { sshKey: values.sshKey } })),
    ]
    if (outcomes.some((outcome) => outcome && outcome.kind !== 'done')) return
    toast(texts.changed)
    onDone()
  }
  return (
    <Card title={texts.login}>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <TextField label={texts.description} {...form.field('description')} lines={2} autoFocus />
        <TextField label={texts.username} {...form.field('username')} mono />
        <TextField label={texts.sshKey} {...form.field('sshKey')} description={texts.sshKeyNote} mono />
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          <CancelButton onPress={onDone} />
          <Button look="primary" type="submit" isBusy={description.isRunning || username.isRunning || sshKey.isRunning}>
            {texts.save}
          </Button>
        </div>
      </form>
    </Card>
  )
}
