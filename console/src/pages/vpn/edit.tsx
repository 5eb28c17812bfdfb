/** Creates a VPN client. */
import type { FormEvent } from 'react'
import { useLocation } from 'wouter'
import { useChange } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

const first = { name: '', type: 'device', endpointId: '', description: '', protocol: 'udp' }

export default function NewVpnClientPage() {
  const create = useChange('vpnClients.create')
  const form = useForm(first, create.problem)
  const [, navigate] = useLocation()
  const toast = useToast()
  const { name, type, endpointId, description, protocol } = form.values
  const body = {
    name,
    type: type as 'admin' | 'device',
    protocol: protocol as 'udp' | 'tcp',
    ...(endpointId !== '' && { endpointId }),
    ...(description !== '' && { description }),
  }
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = await create.run({ body })
    if (outcome.kind !== 'done') return
    toast(texts.created)
    navigate(`/vpn/${encodeURIComponent(outcome.body.data.id)}`)
  }
  return (
    <>
      <PageHeader title={texts.create} above={[{ title: texts.title, to: '/vpn' }]} />
      <Card>
        <form className="form" onSubmit={(event) => void submit(event)}>
          <TextField
            label={texts.name}
            {...form.field('name')}
            description={texts.nameNote}
            isRequired
            mono
            autoFocus
          />
          <SelectField
            label={texts.type}
            {...form.field('type')}
            options={(['device', 'admin'] as const).map((value) => ({
              ...{ value, label: texts.types[value] },
              description: texts.typeNotes[value],
            }))}
            isRequired
          />
          <TextField label={texts.endpointId} {...form.field('endpointId')} description={texts.endpointNote} mono />
          <TextField label={texts.description} {...form.field('description')} lines={2} />
          <SelectField
            label={texts.protocol}
            {...form.field('protocol')}
            options={(['udp', 'tcp'] as const).map((value) => ({ value, label: texts.protocols[value] }))}
            isRequired
          />
          {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
          <div className="form-actions">
            <AsCommand operation="vpnClients.create" args={{ body }} />
            <LinkButton to="/vpn">{texts.cancel}</LinkButton>
            <Button look="primary" type="submit" isBusy={create.isRunning}>
              {texts.submit}
            </Button>
          </div>
        </form>
      </Card>
    </>
  )
}
