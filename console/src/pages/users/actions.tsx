/** Actions on a user: new password, disable or enable, delete. */
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { Menu, type MenuEntry } from '../../parts/menu.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { Secret } from '../../parts/secret.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type User = BodyOf<'users.get'>

export function UserActions({ user, isSelf }: { user: User; isSelf: boolean }) {
  const [open, setOpen] = useState<'password' | 'enable' | 'delete'>()
  const may = useMay()
  const close = () => setOpen(undefined)
  const mayChange = may('identity:user:update')
  const entries: MenuEntry[] = [
    ...(mayChange
      ? [
          { id: 'password', label: texts.setPassword, icon: 'key' as const, onAction: () => setOpen('password') },
          {
            id: 'enable',
            label: user.enabled ? texts.disable : texts.enable,
            icon: user.enabled ? ('pause' as const) : ('play' as const),
            // Users cannot disable themselves, because they could not undo it.
            isDisabled: isSelf,
            onAction: () => setOpen('enable'),
          },
        ]
      : []),
    ...(may('identity:user:delete')
      ? [
          {
            ...{ id: 'delete', label: texts.delete, icon: 'trash' as const, isDanger: true, isDisabled: isSelf },
            onAction: () => setOpen('delete'),
          },
        ]
      : []),
  ]
  if (entries.length === 0) return null
  return (
    <>
      <Menu entries={entries} />
      {open === 'password' && <PasswordDialog user={user} onClose={close} />}
      {open === 'enable' && <EnableDialog user={user} onClose={close} />}
      {open === 'delete' && <DeleteDialog user={user} onClose={close} />}
    </>
  )
}

const letters = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/** Returns a password of 20 letters and digits (about 115 bits), without characters that are easily confused, such as l and 1. */
const generatePassword = () =>
  [...crypto.getRandomValues(new Uint32Array(20))].map((random) => letters[random % letters.length]).join('')

function PasswordDialog({ user, onClose }: { user: User; onClose(): void }) {
  const change = useChange('users.password.update')
  const form = useForm({ password: '' }, change.problem)
  const [generated, setGenerated] = useState<string>()
  const [isSet, setDone] = useState(false)
  const toast = useToast()
  async function submit(event: FormEvent) {
    event.preventDefault()
    const { password } = form.values
    const outcome = await change.run({ id: user.id, body: { password } })
    if (outcome.kind !== 'done') return
    toast(texts.passwordSet)
    if (password === generated) setDone(true)
    else onClose()
  }
  if (isSet && generated)
    return (
      <Dialog
        title={texts.setPassword}
        isOpen
        isAlert
        onClose={onClose}
        actions={
          <Button look="primary" onPress={onClose}>
            {texts.done}
          </Button>
        }
      >
        <Secret label={texts.password} value={generated} fileName={`${user.username}-password.txt`} />
      </Dialog>
    )
  return (
    <Dialog title={texts.setPassword} isOpen onClose={onClose}>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <TextField
          label={texts.password}
          {...form.field('password')}
          description={texts.passwordNote}
          type="password"
          autoComplete="new-password"
          isRequired
          autoFocus
        />
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          <Button
            icon="refresh"
            onPress={() => {
              const password = generatePassword()
              setGenerated(password)
              form.set({ password })
            }}
          >
            {texts.generate}
          </Button>
          <CancelButton onPress={onClose} />
          <Button look="primary" type="submit" isBusy={change.isRunning}>
            {texts.save}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function EnableDialog({ user, onClose }: { user: User; onClose(): void }) {
  const change = useChange('users.update')
  const toast = useToast()
  const { id, username } = user
  // The state when the dialog opened. Another administrator can change the user meanwhile; the dialog then must not do the opposite.
  const [enabled] = useState(user.enabled)
  async function run() {
    const outcome = await change.run({ id, body: { enabled: !enabled } })
    if (outcome.kind !== 'done') return
    toast(enabled ? texts.isDisabled : texts.isEnabled)
    onClose()
  }
  return (
    <Confirm
      title={enabled ? texts.disableTitle(username) : texts.enableTitle(username)}
      action={enabled ? texts.disable : texts.enable}
      isDanger={enabled}
      isOpen
      isOutdated={user.enabled !== enabled}
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void run()}
      onClose={onClose}
    >
      {enabled ? texts.disableText : texts.enableText}
    </Confirm>
  )
}

function DeleteDialog({ user: { id, username }, onClose }: { user: User; onClose(): void }) {
  const may = useMay()
  const mayCount = may('identity:grant:read') && may('identity:api-key:read')
  const grants = useList('grants.list', { subjectType: 'user', subjectId: id, limit: 1 }, { enabled: mayCount })
  const keys = useList('apiKeys.list', { limit: 0 }, { enabled: mayCount })
  const change = useChange('users.delete', { also: ['grants', 'apiKeys'] })
  const [, navigate] = useLocation()
  const toast = useToast()
  const isCounted = !grants.isLoading && !keys.isLoading
  async function remove() {
    const outcome = await change.run({ id })
    if (outcome.kind !== 'done') return
    toast(texts.deleted)
    navigate('/users')
  }
  return (
    <ConfirmDelete
      objectName={texts.objectName(username)}
      also={
        isCounted
          ? [
              { name: texts.also.grants, count: grants.total ?? 0 },
              { name: texts.also.apiKeys, count: keys.items.filter(({ owner }) => owner.id === id).length },
            ]
          : undefined
      }
      confirmationWord={username}
      isOpen
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void remove()}
      onClose={onClose}
    />
  )
}
