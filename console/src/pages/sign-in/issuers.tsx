/** External identity providers whose access tokens the tenant accepts. */
import { type FormEvent, useState } from 'react'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button, CancelButton, IconButton } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { ErrorNote } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type Issuer = ItemOf<'issuers.list'>

export function Issuers() {
  const list = useList('issuers.list', { limit: 0 })
  const [open, setOpen] = useState<'new' | Issuer>()
  const may = useMay()
  const close = () => setOpen(undefined)
  return (
    <Card
      title={texts.issuers}
      flush={list.items.length > 0}
      actions={
        may('identity:issuer:create') && (
          <Button size="small" icon="plus" onPress={() => setOpen('new')}>
            {texts.register}
          </Button>
        )
      }
    >
      {list.isLoading && <Loading label={texts.issuers} lines={2} />}
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {!list.isLoading && !list.problem && list.items.length === 0 && <p className="quiet">{texts.issuersEmpty}</p>}
      {list.items.length > 0 && (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.issuerColumns.issuer}</th>
                <th scope="col">{texts.issuerColumns.audience}</th>
                <th scope="col">{texts.issuerColumns.claim}</th>
                <th scope="col">{texts.issuerColumns.created}</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {list.items.map((issuer) => (
                <tr key={issuer.id}>
                  <th scope="row">
                    <Text value={issuer.issuer} max={160} mono />
                  </th>
                  <td>
                    <Text value={issuer.audience} max={80} mono />
                  </td>
                  <td>
                    <Text value={issuer.rolesClaim ?? texts.byDefault} max={80} />
                  </td>
                  <td>
                    <Time value={issuer.createdAt} />
                  </td>
                  <td className="cell-actions">
                    {may('identity:issuer:delete') && (
                      <IconButton icon="trash" label={texts.remove} onPress={() => setOpen(issuer)} />
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {open === 'new' && <NewIssuer onClose={close} />}
      {open !== undefined && open !== 'new' && <RemoveIssuer issuer={open} onClose={close} />}
    </Card>
  )
}

function NewIssuer({ onClose }: { onClose(): void }) {
  const create = useChange('issuers.create')
  const form = useForm({ issuer: '', audience: '', rolesClaim: '' }, create.problem)
  const toast = useToast()
  const { rolesClaim, ...rest } = form.values
  const body = { ...rest, ...(rolesClaim !== '' && { rolesClaim }) }
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = await create.run({ body })
    if (outcome.kind !== 'done') return
    toast(texts.registered)
    onClose()
  }
  return (
    <Dialog title={texts.register} isOpen onClose={onClose}>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <TextField
          label={texts.issuer}
          {...form.field('issuer')}
          description={texts.issuerNote}
          type="url"
          isRequired
          autoFocus
        />
        <TextField label={texts.audience} {...form.field('audience')} description={texts.audienceNote} isRequired />
        <TextField label={texts.rolesClaim} {...form.field('rolesClaim')} description={texts.rolesClaimNote} mono />
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          <AsCommand operation="issuers.create" args={{ body }} />
          <CancelButton onPress={onClose} />
          <Button look="primary" type="submit" isBusy={create.isRunning}>
            {texts.submit}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function RemoveIssuer({ issuer: { id, issuer }, onClose }: { issuer: Issuer; onClose(): void }) {
  const change = useChange('issuers.delete')
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ id })
    if (outcome.kind !== 'done') return
    toast(texts.removed)
    onClose()
  }
  return (
    <ConfirmDelete
      objectName={texts.objectName(issuer.slice(0, 120))}
      also={[]}
      isOpen
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void remove()}
      onClose={onClose}
    />
  )
}
