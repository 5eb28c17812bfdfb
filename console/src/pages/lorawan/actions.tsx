/** Suspends, resumes and deletes integrations, devices and gateways, which all have the same states. */
import { useState } from 'react'
import type { Outcome } from '../../api/query.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { ConfirmDelete, type DeletedToo } from '../../parts/confirm-delete.tsx'
import { Menu, type MenuEntry } from '../../parts/menu.tsx'
import type { Problem } from '../../parts/problem.ts'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type Status = 'ACTIVE' | 'SUSPENDED'

interface Action<A extends unknown[]> {
  run(...args: A): Promise<Outcome<unknown>>
  isRunning: boolean
  problem: Problem | undefined
}

export interface IntegrationMenuProps {
  name: string
  /** Kind and name of the object that is deleted. */
  objectName: string
  status: Status
  also: DeletedToo[]
  /** Suspends or resumes the object; `remove` deletes the object. Each is undefined if the caller lacks the permission for it. */
  setStatus: Action<[Status]> | undefined
  remove: Action<[]> | undefined
  onDeleted?(): void
  deletedText?: string
}

export function IntegrationMenu(props: IntegrationMenuProps) {
  const { name, objectName, status, also, setStatus, remove, onDeleted, deletedText = texts.deleted } = props
  const [open, setOpen] = useState<'status' | 'delete'>()
  const toast = useToast()
  const isActive = status === 'ACTIVE'
  const close = () => setOpen(undefined)
  async function changeStatus(to: Status) {
    const outcome = await setStatus!.run(to)
    if (outcome.kind !== 'done') return
    toast(to === 'SUSPENDED' ? texts.suspended : texts.resumed)
    close()
  }
  async function runDelete() {
    const outcome = await remove!.run()
    if (outcome.kind !== 'done') return
    toast(deletedText)
    close()
    onDeleted?.()
  }
  const entries: MenuEntry[] = [
    ...(setStatus
      ? [
          {
            id: 'status',
            label: isActive ? texts.suspend : texts.resume,
            icon: isActive ? ('pause' as const) : ('play' as const),
            // Only suspending needs a confirmation, because uplinks are lost while an object is suspended.
            onAction: () => (isActive ? setOpen('status') : void changeStatus('ACTIVE')),
          },
        ]
      : []),
    ...(remove
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
      {setStatus && (
        <Confirm
          title={texts.suspendTitle(name.slice(0, 80))}
          action={texts.suspend}
          isDanger
          isOpen={open === 'status'}
          isOutdated={!isActive}
          isBusy={setStatus.isRunning}
          problem={setStatus.problem}
          onConfirm={() => void changeStatus('SUSPENDED')}
          onClose={close}
        >
          {texts.suspendText}
        </Confirm>
      )}
      {remove && (
        <ConfirmDelete
          objectName={objectName.slice(0, 120)}
          also={also}
          isOpen={open === 'delete'}
          isBusy={remove.isRunning}
          problem={remove.problem}
          onConfirm={() => void runDelete()}
          onClose={close}
        />
      )}
    </>
  )
}
