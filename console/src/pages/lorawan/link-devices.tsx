/** Creates device integrations. The user chooses devices from the list of the network, or enters their ids. */
import { type FormEvent, useState } from 'react'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { Button, CancelButton } from '../../parts/button.tsx'
import { CheckList } from '../../parts/check-list.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

interface LinkDevicesProps {
  appIntegrationId: number
  appName: string
  onClose(): void
}

export function LinkDevices({ appIntegrationId, appName, onClose }: LinkDevicesProps) {
  const found = useList('appIntegrations.netDevices.list', { appIntegrationId })
  const versions = useList('applications.versions.list', { appName })
  const create = useChange('appIntegrations.devices.create', { also: ['endpoints'] })
  const form = useForm({ appVersionName: '', ids: '', chosen: [] as string[] }, create.problem)
  const [failed, setFailed] = useState<BodyOf<'appIntegrations.devices.create'>['failed']>([])
  const toast = useToast()
  const { appVersionName, ids, chosen } = form.values
  const names = new Map(found.items.map(({ netDeviceId, name }) => [netDeviceId, name]))
  const all = [...new Set([...chosen, ...ids.split(/[\s,]+/).filter(Boolean)])]
  async function submit(event: FormEvent) {
    event.preventDefault()
    const devices = all.map((netDeviceId) => ({ netDeviceId, name: names.get(netDeviceId) ?? netDeviceId }))
    const outcome = await create.run({ appIntegrationId, body: { appVersionName, devices } })
    if (outcome.kind !== 'done') return
    const { createdCount, failedCount } = outcome.body
    toast(texts.linked(createdCount, failedCount), failedCount > 0 ? 'bad' : 'good')
    setFailed(outcome.body.failed)
    if (failedCount === 0) onClose()
  }
  return (
    <Dialog title={texts.addDevices} isOpen onClose={onClose} size="wide">
      <form className="form" onSubmit={(event) => void submit(event)}>
        <SelectField
          label={texts.version}
          {...form.field('appVersionName')}
          options={versions.items.map(({ name }) => ({ value: name, label: name }))}
          description={texts.versionNote}
          isRequired
        />
        {found.isLoading && <p role="status">{texts.asking}</p>}
        {found.problem && <ErrorNote problem={found.problem} onRetry={found.reload} />}
        {found.items.length > 0 && (
          <CheckList
            label={texts.netDevices}
            options={found.items.map(({ netDeviceId, name, devEui }) => ({
              value: netDeviceId,
              description: [name, devEui].filter(Boolean).join(' · '),
            }))}
            value={chosen}
            onChange={(chosen) => form.set({ chosen })}
          />
        )}
        {!found.isLoading && !found.problem && found.items.length === 0 && (
          <p className="quiet">{texts.netDevicesEmpty}</p>
        )}
        <TextField label={texts.orById} {...form.field('ids')} description={texts.orByIdNote} mono />
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        {failed.length > 0 && (
          <Note tone="warn">
            {failed.slice(0, 20).map(({ netDeviceId, reason }) => (
              <p key={netDeviceId}>
                <Text value={texts.failedReason(netDeviceId, reason)} />
              </p>
            ))}
          </Note>
        )}
        <div className="form-actions">
          <CancelButton onPress={onClose} />
          <Button look="primary" type="submit" isBusy={create.isRunning} isDisabled={all.length === 0}>
            {texts.link}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
