/** One account integration (the link with a user of a LoRaWAN network), and the gateways of this user that are linked. */
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { Link, LinkButton } from '../../parts/link.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { IntegrationMenu } from './actions.tsx'
import { StatusBadge } from './badges.tsx'
import { texts } from './texts.ts'

const above = [{ title: texts.title, to: '/lorawan?tab=accounts' }]

export default function AccountIntegrationPage({ params }: PageProps) {
  const accountIntegrationId = Number(params.id)
  const integration = useGet('accountIntegrations.get', { accountIntegrationId })
  const gateways = useGateways(accountIntegrationId)
  const setStatus = useChange('accountIntegrations.status.update')
  const remove = useChange('accountIntegrations.delete')
  const [, navigate] = useLocation()
  const may = useMay()
  const { data } = integration
  if (integration.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return (
      <>
        <PageHeader title={params.id!} above={above} />
        {integration.problem && <ErrorNote problem={integration.problem} onRetry={() => void integration.reload()} />}
      </>
    )
  return (
    <>
      <PageHeader
        title={data.name}
        above={above}
        lead={<StatusBadge status={data.status} />}
        actions={
          <>
            <AsCommand operation="accountIntegrations.get" args={{ accountIntegrationId }} />
            {may('net-account-integration:update') && (
              <LinkButton to={`/lorawan/accounts/${accountIntegrationId}/edit`} icon="edit">
                {texts.edit}
              </LinkButton>
            )}
            <IntegrationMenu
              name={data.name}
              objectName={texts.objectName(data.name)}
              status={data.status}
              also={[{ name: texts.also.gateways, count: gateways.items.length }]}
              setStatus={
                may('net-account-integration:update')
                  ? { ...setStatus, run: (status) => setStatus.run({ accountIntegrationId, body: { status } }) }
                  : undefined
              }
              remove={
                may('net-account-integration:delete')
                  ? { ...remove, run: () => remove.run({ accountIntegrationId }, { ifMatch: integration.etag }) }
                  : undefined
              }
              onDeleted={() => navigate('/lorawan?tab=accounts')}
            />
          </>
        }
      />
      <Card title={texts.about}>
        <Facts
          items={[
            [texts.facts.user, <Text key="user" value={data.netUsername} mono />],
            [texts.facts.identity, <Text key="identity" value={data.netIdentityServerHost} mono />],
            [texts.facts.description, <Text key="description" value={data.description} max={1000} />],
          ]}
        />
      </Card>
      {may('net-gateway-integration:read') && (
        <Gateways accountIntegrationId={accountIntegrationId} gateways={gateways} />
      )}
    </>
  )
}

function useGateways(accountIntegrationId: number) {
  const may = useMay()
  const options = { enabled: may('net-gateway-integration:read') }
  const active = useList('accountIntegrations.gateways.list', { accountIntegrationId, status: 'ACTIVE' }, options)
  const suspended = useList('accountIntegrations.gateways.list', { accountIntegrationId, status: 'SUSPENDED' }, options)
  return { ...active, items: [...active.items, ...suspended.items], problem: active.problem ?? suspended.problem }
}

interface GatewaysProps {
  accountIntegrationId: number
  gateways: ReturnType<typeof useGateways>
}

function Gateways({ accountIntegrationId, gateways: { items, isLoading, problem, reload } }: GatewaysProps) {
  const [isOpen, setOpen] = useState(false)
  const may = useMay()
  return (
    <Card
      title={texts.gateways}
      flush={items.length > 0}
      actions={
        may('net-account-integration:net-gateway-integration:create') && (
          <Button size="small" icon="plus" onPress={() => setOpen(true)}>
            {texts.addGateway}
          </Button>
        )
      }
    >
      {isLoading && <Loading label={texts.gateways} lines={3} />}
      {problem && <ErrorNote problem={problem} onRetry={reload} />}
      {!isLoading && !problem && items.length === 0 && <p className="quiet">{texts.gatewaysEmpty}</p>}
      {items.length > 0 && (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.gatewayColumns.name}</th>
                <th scope="col">{texts.gatewayColumns.network}</th>
                <th scope="col">{texts.gatewayColumns.endpoint}</th>
                <th scope="col">{texts.gatewayColumns.status}</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {items.map((gateway) => (
                <tr key={gateway.id}>
                  <th scope="row">
                    <Text value={gateway.name} max={60} />
                  </th>
                  <td>
                    <Text value={gateway.netGatewayId} max={60} mono />
                  </td>
                  <td>
                    <Link to={`/endpoints/${encodeURIComponent(gateway.endpointId)}`}>
                      <Text value={gateway.endpointId} max={60} />
                    </Link>
                  </td>
                  <td>
                    <StatusBadge status={gateway.status} />
                  </td>
                  <td className="cell-actions">
                    <GatewayMenu accountIntegrationId={accountIntegrationId} gateway={gateway} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {isOpen && <LinkGateway accountIntegrationId={accountIntegrationId} onClose={() => setOpen(false)} />}
    </Card>
  )
}

interface GatewayMenuProps {
  accountIntegrationId: number
  gateway: { id: number; name: string; status: 'ACTIVE' | 'SUSPENDED' }
}

function GatewayMenu({ accountIntegrationId, gateway: { id, name, status } }: GatewayMenuProps) {
  const may = useMay()
  const setStatus = useChange('accountIntegrations.gateways.status.update')
  const remove = useChange('accountIntegrations.gateways.delete')
  const ids = { accountIntegrationId, gatewayIntegrationId: id }
  return (
    <IntegrationMenu
      name={name}
      objectName={texts.gatewayObjectName(name)}
      status={status}
      also={[]}
      setStatus={
        may('net-gateway-integration:update')
          ? { ...setStatus, run: (status) => setStatus.run({ ...ids, body: { status } }) }
          : undefined
      }
      remove={may('net-gateway-integration:delete') ? { ...remove, run: () => remove.run(ids) } : undefined}
      deletedText={texts.linkDeleted}
    />
  )
}

function LinkGateway({ accountIntegrationId, onClose }: { accountIntegrationId: number; onClose(): void }) {
  const create = useChange('accountIntegrations.gateways.create', { also: ['endpoints'] })
  const form = useForm({ appVersionName: '', netGatewayId: '', name: '' }, create.problem)
  const [reason, setReason] = useState<string>()
  const toast = useToast()
  const { appVersionName, netGatewayId, name } = form.values
  async function submit(event: FormEvent) {
    event.preventDefault()
    const gateways = [{ netGatewayId, name: name || netGatewayId }]
    const outcome = await create.run({ accountIntegrationId, body: { appVersionName, gateways } })
    if (outcome.kind !== 'done') return
    const { createdCount, failedCount, failed } = outcome.body
    toast(texts.linked(createdCount, failedCount), failedCount > 0 ? 'bad' : 'good')
    if (failedCount === 0) onClose()
    else setReason(texts.failedReason(netGatewayId, failed[0]?.reason))
  }
  return (
    <Dialog title={texts.addGateway} isOpen onClose={onClose}>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <TextField label={texts.gatewayId} {...form.field('netGatewayId')} isRequired mono autoFocus />
        <TextField label={texts.name} {...form.field('name')} />
        <TextField
          label={texts.version}
          {...form.field('appVersionName')}
          description={texts.versionNote}
          isRequired
          mono
        />
        {reason && (
          <Note tone="warn">
            <Text value={reason} />
          </Note>
        )}
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          <CancelButton onPress={onClose} />
          <Button look="primary" type="submit" isBusy={create.isRunning}>
            {texts.link}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
