/** The card with the versions of an application, on the page of the application. */
import { type FormEvent, useState } from 'react'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange } from '../../api/query.ts'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { Menu } from '../../parts/menu.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type Application = BodyOf<'applications.get'>

export function Versions({ application, mayChange }: { application: Application; mayChange: boolean }) {
  const [isOpen, setOpen] = useState(false)
  const { versions, name } = application
  return (
    <Card
      title={texts.versions}
      flush={versions.length > 0}
      actions={
        mayChange && (
          <Button size="small" icon="plus" onPress={() => setOpen(true)}>
            {texts.newVersion}
          </Button>
        )
      }
    >
      {versions.length === 0 ? (
        <p className="quiet">{texts.versionsEmpty}</p>
      ) : (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.versionColumns.name}</th>
                <th scope="col">{texts.versionColumns.displayName}</th>
                <th scope="col">{texts.versionColumns.created}</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {versions.map((version) => (
                <tr key={version.name}>
                  <th scope="row">
                    <Text value={version.name} max={60} />
                  </th>
                  <td>
                    <Text value={version.displayName} max={60} />
                  </td>
                  <td>
                    <Time value={version.createdDate} />
                  </td>
                  <td className="cell-actions">{mayChange && <VersionMenu appName={name} version={version.name} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Dialog title={texts.newVersion} isOpen={isOpen} onClose={() => setOpen(false)}>
        <VersionForm appName={name} onDone={() => setOpen(false)} />
      </Dialog>
    </Card>
  )
}

function VersionForm({ appName, onDone }: { appName: string; onDone(): void }) {
  const create = useChange('applications.versions.create')
  const form = useForm({ nameSuffix: 'v1', displayName: '' }, create.problem)
  const toast = useToast()
  async function submit(event: FormEvent) {
    event.preventDefault()
    const { nameSuffix, displayName } = form.values
    const outcome = await create.run({ appName, body: { nameSuffix, ...(displayName !== '' && { displayName }) } })
    if (outcome.kind !== 'done') return
    toast(texts.versionMade)
    onDone()
  }
  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      <TextField
        label={texts.versionName}
        {...form.field('nameSuffix')}
        description={texts.versionNote(appName, form.values.nameSuffix)}
        isRequired
        mono
        autoFocus
      />
      <TextField label={texts.versionDisplayName} {...form.field('displayName')} />
      {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
      <div className="form-actions">
        <CancelButton onPress={onDone} />
        <Button look="primary" type="submit" isBusy={create.isRunning}>
          {texts.submit}
        </Button>
      </div>
    </form>
  )
}

function VersionMenu({ appName, version }: { appName: string; version: string }) {
  const [isOpen, setOpen] = useState(false)
  const change = useChange('applications.versions.delete')
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ appName, appVersionName: version })
    if (outcome.kind === 'done') toast(texts.versionDeleted)
  }
  return (
    <>
      <Menu
        entries={[{ id: 'delete', label: texts.delete, icon: 'trash', isDanger: true, onAction: () => setOpen(true) }]}
      />
      <ConfirmDelete
        objectName={texts.versionObjectName(version)}
        also={[]}
        isOpen={isOpen}
        isBusy={change.isRunning}
        problem={change.problem}
        onConfirm={() => void remove()}
        onClose={() => setOpen(false)}
      />
    </>
  )
}
