/** Actions on credentials: suspend, resume, revoke, delete, new password. */
import { useState } from 'react'
import { useChange } from '../../api/query.ts'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Menu, type MenuEntry } from '../../parts/menu.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { Secret } from '../../parts/secret.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

export type Kind = 'basic' | 'x509'
type State = 'Active' | 'Inactive' | 'Suspended' | 'Revoked'
type NewState = 'Active' | 'Suspended' | 'Revoked'

interface Credential {
  kind: Kind
  id: string
  name: string
  state: State
}

export function CredentialMenu(credential: Credential) {
  const [open, setOpen] = useState<NewState | 'delete' | 'password'>()
  const { kind, state, name } = credential
  const close = () => setOpen(undefined)
  const isUsable = state === 'Active' || state === 'Inactive'
  const entries: MenuEntry[] = [
    ...(isUsable && state === 'Active'
      ? [{ id: 'suspend', label: texts.suspend, icon: 'pause' as const, onAction: () => setOpen('Suspended') }]
      : []),
    ...(state === 'Suspended'
      ? [{ id: 'resume', label: texts.resume, icon: 'play' as const, onAction: () => setOpen('Active') }]
      : []),
    ...(kind === 'basic' && state !== 'Revoked'
      ? [{ id: 'password', label: texts.newPassword, icon: 'key' as const, onAction: () => setOpen('password') }]
      : []),
    ...(state !== 'Revoked'
      ? [
          {
            ...{ id: 'revoke', label: texts.revoke, icon: 'lock' as const, isDanger: true },
            onAction: () => setOpen('Revoked'),
          },
        ]
      : []),
    ...(kind === 'basic'
      ? [
          {
            ...{ id: 'delete', label: texts.delete, icon: 'trash' as const, isDanger: true },
            onAction: () => setOpen('delete'),
          },
        ]
      : []),
  ]
  if (entries.length === 0) return null
  return (
    <>
      <Menu label={texts.actions(name.slice(0, 60))} entries={entries} />
      {open === 'delete' && <DeleteDialog {...credential} onClose={close} />}
      {open === 'password' && <PasswordDialog {...credential} onClose={close} />}
      {open !== undefined && open !== 'delete' && open !== 'password' && (
        <StateDialog {...credential} to={open} onClose={close} />
      )}
    </>
  )
}

function StateDialog({ kind, id, name, to, onClose }: Credential & { to: NewState; onClose(): void }) {
  const basic = useChange('basicCredentials.state.patch')
  const x509 = useChange('x509Credentials.state.patch')
  const change = kind === 'basic' ? basic : x509
  const toast = useToast()
  const ask = texts.asks[to]
  async function run() {
    const outcome = await change.run({ id, body: { state: to } })
    if (outcome.kind !== 'done') return
    toast(ask.done)
    onClose()
  }
  const actions = { Suspended: texts.suspend, Active: texts.resume, Revoked: texts.revoke }
  return (
    <Confirm
      title={ask.title(name.slice(0, 80))}
      action={actions[to]}
      isDanger={to !== 'Active'}
      isOpen
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void run()}
      onClose={onClose}
    >
      {ask.text}
    </Confirm>
  )
}

function DeleteDialog({ id, name, onClose }: Credential & { onClose(): void }) {
  const change = useChange('basicCredentials.delete')
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ id })
    if (outcome.kind !== 'done') return
    toast(texts.deleted)
    onClose()
  }
  return (
    <ConfirmDelete
      objectName={texts.objectName(name.slice(0, 80))}
      also={[]}
      isOpen
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void remove()}
      onClose={onClose}
    />
  )
}

function PasswordDialog({ id, name, onClose }: Credential & { onClose(): void }) {
  const change = useChange('basicCredentials.password.patch')
  const [password, setPassword] = useState<string>()
  const toast = useToast()
  async function run() {
    const outcome = await change.run({ id })
    if (outcome.kind !== 'done') return
    toast(texts.passwordMade)
    setPassword(outcome.body.password)
  }
  return (
    <Dialog
      title={texts.passwordTitle(name.slice(0, 80))}
      isOpen
      isAlert
      onClose={onClose}
      actions={
        password === undefined ? (
          <>
            <CancelButton onPress={onClose} />
            <Button look="primary" onPress={() => void run()} isBusy={change.isRunning}>
              {texts.set}
            </Button>
          </>
        ) : (
          <Button look="primary" onPress={onClose}>
            {texts.done}
          </Button>
        )
      }
    >
      {password === undefined ? (
        <p>{texts.passwordText}</p>
      ) : (
        <Secret label={texts.password} value={password} fileName={`${name.slice(0, 40)}-password.txt`} />
      )}
      {change.problem && <ErrorNote problem={change.problem} />}
    </Dialog>
  )
}
