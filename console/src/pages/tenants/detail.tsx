/** One tenant: facts, package, usage, users; suspend, resume, delete. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { consolePath } from '../../api/platform.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { Menu, type MenuEntry } from '../../parts/menu.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { TenantForm } from './form.tsx'
import { TenantStatus } from './status.tsx'
import { texts } from './texts.ts'
import { Package, Usage, useUsage } from './usage.tsx'

type Tenant = BodyOf<'tenants.get'>

export default function TenantPage({ params }: PageProps) {
  const id = params.id!
  const tenant = useGet('tenants.get', { tenant_pk: id }, { refreshMs: 5_000 })
  const [isEditing, setEditing] = useState(false)
  const may = useMay()
  const above = [{ title: texts.title, to: '/tenants' }]
  const { data } = tenant
  if (tenant.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return (
      <>
        <PageHeader title={id} above={above} />
        {tenant.problem && <ErrorNote problem={tenant.problem} onRetry={() => void tenant.reload()} />}
      </>
    )
  const mayChange = may('identity:tenant:update')
  return (
    <>
      <PageHeader
        title={data.name}
        above={above}
        lead={<TenantStatus status={data.status} />}
        actions={
          <>
            <AsCommand operation="tenants.get" args={{ tenant_pk: id }} />
            {data.status === 'AVAILABLE' && (
              <Button
                icon="external"
                onPress={() => void window.open(`${consolePath}/${encodeURIComponent(data.tenant_id)}`)}
              >
                {texts.open}
              </Button>
            )}
            <TenantActions tenant={data} />
          </>
        }
      />
      {data.status_reason && (
        <Note tone="warn">
          <Text value={data.status_reason} />
        </Note>
      )}
      <div className="columns">
        {isEditing ? (
          <TenantForm tenant={data} onDone={() => setEditing(false)} />
        ) : (
          <About tenant={data} onEdit={mayChange ? () => setEditing(true) : undefined} />
        )}
        <Package name={data.package_type} />
        {may('tenant:usage:read') && <Usage tenantId={data.tenant_id} />}
        <Users tenantId={data.tenant_id} />
      </div>
    </>
  )
}

function About({ tenant, onEdit }: { tenant: Tenant; onEdit: (() => void) | undefined }) {
  return (
    <Card
      title={texts.about}
      actions={
        onEdit && (
          <Button size="small" icon="edit" onPress={onEdit}>
            {texts.edit}
          </Button>
        )
      }
    >
      <Facts
        items={[
          [texts.facts.tenantId, <Text key="tenant" value={tenant.tenant_id} mono />],
          [texts.facts.id, <Text key="id" value={tenant.id} mono />],
          [texts.facts.subscription, texts.subscriptions[tenant.subscription_type]],
          [texts.facts.admin, <Text key="admin" value={tenant.admin?.username} />],
          [texts.facts.email, <Text key="email" value={tenant.admin?.email} />],
          [texts.facts.created, <Time key="created" value={tenant.created} style="full" />],
          [texts.facts.changed, <Time key="changed" value={tenant.modified} />],
        ]}
      />
    </Card>
  )
}

const usersMax = 20

function Users({ tenantId }: { tenantId: string }) {
  const list = useList('tenants.users.list', { tenant_id: tenantId, limit: usersMax })
  return (
    <Card title={texts.users} flush={list.items.length > 0}>
      {list.isLoading && <Loading label={texts.users} lines={2} />}
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {!list.isLoading && !list.problem && list.items.length === 0 && <p className="quiet">{texts.usersEmpty}</p>}
      {list.items.length > 0 && (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.userColumns.name}</th>
                <th scope="col">{texts.userColumns.email}</th>
                <th scope="col">{texts.userColumns.state}</th>
              </tr>
            </thead>
            <tbody>
              {list.items.map((user) => (
                <tr key={user.id}>
                  <th scope="row">
                    <Text value={user.username} max={60} />
                  </th>
                  <td>
                    <Text value={user.email} max={60} />
                  </td>
                  <td>
                    <Badge tone={user.enabled ? 'good' : 'quiet'}>
                      {user.enabled ? texts.enabled : texts.disabled}
                    </Badge>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}

function TenantActions({ tenant }: { tenant: Tenant }) {
  const [open, setOpen] = useState<'status' | 'delete'>()
  const may = useMay()
  const isSuspended = tenant.status === 'SUSPENDED'
  // The tenant `platform` cannot be suspended or deleted, because its users administer the platform.
  const isOwn = tenant.tenant_id === 'platform'
  const entries: MenuEntry[] = [
    ...(may('identity:tenant:update') && !isOwn
      ? [
          {
            id: 'status',
            label: isSuspended ? texts.resume : texts.suspend,
            icon: isSuspended ? ('play' as const) : ('pause' as const),
            onAction: () => setOpen('status'),
          },
        ]
      : []),
    ...(may('identity:tenant:delete') && !isOwn
      ? [
          {
            ...{ id: 'delete', label: texts.delete, icon: 'trash' as const, isDanger: true },
            onAction: () => setOpen('delete'),
          },
        ]
      : []),
  ]
  if (entries.length === 0) return null
  const close = () => setOpen(undefined)
  return (
    <>
      <Menu entries={entries} />
      {open === 'status' && <StatusDialog tenant={tenant} onClose={close} />}
      {open === 'delete' && <DeleteDialog tenant={tenant} onClose={close} />}
    </>
  )
}

interface DialogProps {
  tenant: Tenant
  onClose(): void
}

function StatusDialog({ tenant, onClose }: DialogProps) {
  const change = useChange('tenants.update')
  // The status when the dialog opened. Another administrator can change the tenant meanwhile; the dialog then must not do the opposite.
  const [wasStatus] = useState(tenant.status)
  const isSuspended = wasStatus === 'SUSPENDED'
  const toast = useToast()
  const name = tenant.name.slice(0, 80)
  async function run() {
    const status = isSuspended ? ('AVAILABLE' as const) : ('SUSPENDED' as const)
    const outcome = await change.run({ tenant_pk: tenant.id, body: { status } })
    if (outcome.kind !== 'done') return
    toast(isSuspended ? texts.resumed : texts.suspended)
    onClose()
  }
  return (
    <Confirm
      title={isSuspended ? texts.resumeTitle(name) : texts.suspendTitle(name)}
      action={isSuspended ? texts.resume : texts.suspend}
      isDanger={!isSuspended}
      isOpen
      isOutdated={tenant.status !== wasStatus}
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void run()}
      onClose={onClose}
    >
      {isSuspended ? texts.resumeText : texts.suspendText}
    </Confirm>
  )
}

function DeleteDialog({ tenant, onClose }: DialogProps) {
  const users = useList('tenants.users.list', { tenant_id: tenant.tenant_id, limit: 1 })
  const usage = useUsage(tenant.tenant_id)
  const change = useChange('tenants.delete')
  const [, navigate] = useLocation()
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ tenant_pk: tenant.id })
    if (outcome.kind !== 'done') return
    toast(texts.deleted)
    navigate('/tenants')
  }
  return (
    <ConfirmDelete
      objectName={texts.objectName(tenant.name.slice(0, 80))}
      also={
        users.isLoading || usage.isLoading
          ? undefined
          : [
              { name: texts.also.users, count: users.total ?? 0 },
              { name: texts.also.bytes, count: usage.total },
            ]
      }
      confirmationWord={tenant.tenant_id}
      isOpen
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void remove()}
      onClose={onClose}
    />
  )
}
