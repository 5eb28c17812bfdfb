/** Actions on a dashboard: duplicate, export, use for an application, delete. */

import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { useApplications } from '../../api/applications.ts'
import { useMay } from '../../api/me.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { Button, CancelButton } from '../../parts/button.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { saveText } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { Menu, type MenuEntry } from '../../parts/menu.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { cut, withoutInvisible } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { bodyOf, contentsOf, type Dashboard } from './definition.ts'
import { fileOf } from './files.ts'
import { texts } from './texts.ts'

export const addressOf = (dashboardId: string) => `/dashboards/${encodeURIComponent(dashboardId)}`

/** Returns the function `open`, which creates a dashboard and opens its page. If the creation fails, `open` returns the problem. */
export function useCreateDashboard() {
  // `me` (the permissions of the caller) is read again, because the creator of a dashboard gets permissions on the dashboard.
  const create = useChange('dashboards.create', { also: ['me'] })
  const [, navigate] = useLocation()
  return {
    ...create,
    open: async (body: ReturnType<typeof bodyOf>, to: 'view' | 'edit' = 'view'): Promise<string | undefined> => {
      const outcome = await create.run({ body })
      if (outcome.kind !== 'done') return outcome.kind === 'failed' ? outcome.problem.message : texts.failed
      navigate(`${addressOf(outcome.body.dashboardId)}${to === 'edit' ? '/edit' : ''}`)
      return undefined
    },
  }
}

const nameMax = 200

/** The menu of a dashboard. The contents of the dashboard are read only when an action needs them. */
export function DashboardActions({ dashboardId, name, label }: { dashboardId: string; name: string; label?: string }) {
  const [open, setOpen] = useState<'delete' | 'use'>()
  const dashboard = useGet('dashboards.get', { dashboardId }, { enabled: false })
  const create = useCreateDashboard()
  const may = useMay()
  const toast = useToast()
  async function withDashboard(action: (dashboard: Dashboard) => void | Promise<void>) {
    const { data } = await dashboard.reload()
    if (data) await action(data as Dashboard)
    else toast(texts.notRead, 'bad')
  }
  const duplicate = () =>
    withDashboard(async (full) => {
      const contents = contentsOf(full)
      const problem = await create.open(bodyOf({ ...contents, name: texts.copyOf(name).slice(0, nameMax) }))
      if (problem === undefined) toast(texts.duplicated)
      else toast(problem, 'bad')
    })
  const save = () =>
    withDashboard((full) => {
      const file = fileOf(contentsOf(full))
      saveText(file.name, file.text, 'application/json')
    })
  const entries: MenuEntry[] = [
    ...(may('tenant:dashboard:create')
      ? [{ id: 'duplicate', label: texts.duplicate, icon: 'copy' as const, onAction: () => void duplicate() }]
      : []),
    { id: 'versions', label: texts.showVersions, icon: 'clock', to: `${addressOf(dashboardId)}?tab=versions` },
    { id: 'export', label: texts.export, icon: 'download', onAction: () => void save() },
    ...(may('application:update')
      ? [{ id: 'use', label: texts.useForApplication, icon: 'layers' as const, onAction: () => setOpen('use') }]
      : []),
    ...(may('dashboard:delete', `dashboard-${dashboardId}`)
      ? [
          {
            ...{ id: 'delete', label: texts.delete, icon: 'trash' as const, isDanger: true },
            onAction: () => setOpen('delete'),
          },
        ]
      : []),
  ]
  const close = () => setOpen(undefined)
  return (
    <>
      <Menu entries={entries} {...(label !== undefined && { label })} />
      {open === 'delete' && <DeleteDialog dashboardId={dashboardId} name={name} onClose={close} />}
      {open === 'use' && <UseDialog dashboardId={dashboardId} onClose={close} />}
    </>
  )
}

interface DialogProps {
  dashboardId: string
  onClose(): void
}

function DeleteDialog({ dashboardId, name, onClose }: DialogProps & { name: string }) {
  const remove = useChange('dashboards.delete', { also: ['me'] })
  const versions = useList('dashboards.versions.list', { dashboardId })
  const [path, navigate] = useLocation()
  const toast = useToast()
  async function run() {
    const outcome = await remove.run({ dashboardId })
    if (outcome.kind !== 'done') return
    onClose()
    toast(texts.deleted)
    if (path !== '/dashboards') navigate('/dashboards')
  }
  return (
    <ConfirmDelete
      objectName={texts.objectName(withoutInvisible(cut(name, 80).shown))}
      also={[{ name: texts.versions, count: versions.items.length }]}
      isOpen
      isBusy={remove.isRunning}
      problem={remove.problem}
      onConfirm={() => void run()}
      onClose={onClose}
    />
  )
}

function UseDialog({ dashboardId, onClose }: DialogProps) {
  const dashboard = useGet('dashboards.get', { dashboardId })
  const applications = useApplications()
  const change = useChange('dashboardTemplates.update')
  const [appVersionName, setVersion] = useState('')
  const toast = useToast()
  const options = applications.items.flatMap(({ versions }) =>
    versions.map(({ name }) => ({ value: name, label: withoutInvisible(cut(name, 80).shown) })),
  )
  async function submit(event: FormEvent) {
    event.preventDefault()
    if (!dashboard.data) return
    const outcome = await change.run({ appVersionName, body: bodyOf(contentsOf(dashboard.data as Dashboard)) })
    if (outcome.kind !== 'done') return
    toast(texts.used)
    onClose()
  }
  return (
    <Dialog title={texts.useTitle} isOpen onClose={onClose}>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <p>{texts.useText}</p>
        <SelectField
          label={texts.appVersion}
          name="appVersionName"
          value={appVersionName}
          onChange={setVersion}
          options={options}
          isRequired
        />
        {change.problem && <ErrorNote problem={change.problem} />}
        <div className="form-actions">
          <CancelButton onPress={onClose} />
          <Button look="primary" type="submit" isBusy={change.isRunning} isDisabled={appVersionName === ''}>
            {texts.useSubmit}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
