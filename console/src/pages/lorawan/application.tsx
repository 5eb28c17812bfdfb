/**
 * One application integration (the link with an application of a LoRaWAN network): its session with the network, and its linked devices.
 */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import type { PageProps } from '../page-props.ts'
import { IntegrationMenu } from './actions.tsx'
import { SessionBadge, StatusBadge } from './badges.tsx'
import { LinkDevices } from './link-devices.tsx'
import { texts } from './texts.ts'

const above = [{ title: texts.title, to: '/lorawan' }]

export default function AppIntegrationPage({ params }: PageProps) {
  const appIntegrationId = Number(params.id)
  const integration = useGet('appIntegrations.get', { appIntegrationId }, { refreshMs: 10_000 })
  const setStatus = useChange('appIntegrations.status.update')
  const remove = useChange('appIntegrations.delete')
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
            <AsCommand operation="appIntegrations.get" args={{ appIntegrationId }} />
            {may('net-app-integration:update') && (
              <LinkButton to={`/lorawan/applications/${appIntegrationId}/edit`} icon="edit">
                {texts.edit}
              </LinkButton>
            )}
            <IntegrationMenu
              name={data.name}
              objectName={texts.objectName(data.name)}
              status={data.status}
              also={[{ name: texts.also.devices, count: data.devices.length }]}
              setStatus={
                may('net-app-integration:update')
                  ? { ...setStatus, run: (status) => setStatus.run({ appIntegrationId, body: { status } }) }
                  : undefined
              }
              remove={
                may('net-app-integration:delete')
                  ? { ...remove, run: () => remove.run({ appIntegrationId }, { ifMatch: integration.etag }) }
                  : undefined
              }
              onDeleted={() => navigate('/lorawan')}
            />
          </>
        }
      />
      {data.netConnectionError && (
        <Note tone="warn">
          <Text value={data.netConnectionError} />
        </Note>
      )}
      {data.platformConnectionError && (
        <Note tone="warn">
          <Text value={data.platformConnectionError} />
        </Note>
      )}
      <Card title={texts.about}>
        <Facts
          items={[
            [texts.facts.session, <SessionBadge key="session" integration={data} />],
            [
              texts.facts.application,
              <Link key="application" to={`/applications/${encodeURIComponent(data.appName)}`}>
                <Text value={data.appName} />
              </Link>,
            ],
            [texts.facts.user, <Text key="user" value={data.netUsername} mono />],
            [texts.facts.identity, <Text key="identity" value={data.netIdentityServerHost} mono />],
            [texts.facts.mqtt, <Text key="mqtt" value={data.netPlainMqttServerUrl} mono />],
            [texts.facts.description, <Text key="description" value={data.description} max={1000} />],
          ]}
        />
      </Card>
      <Devices appIntegrationId={appIntegrationId} appName={data.appName} />
    </>
  )
}

function Devices({ appIntegrationId, appName }: { appIntegrationId: number; appName: string }) {
  const [isOpen, setOpen] = useState(false)
  const may = useMay()
  const mayRead = may('net-device-integration:read')
  const options = { enabled: mayRead, refreshMs: 10_000 }
  const active = useList('appIntegrations.devices.list', { appIntegrationId, status: 'ACTIVE' }, options)
  const suspended = useList('appIntegrations.devices.list', { appIntegrationId, status: 'SUSPENDED' }, options)
  const items = [...active.items, ...suspended.items]
  const problem = active.problem ?? suspended.problem
  if (!mayRead) return null
  return (
    <Card
      title={texts.devices}
      flush={items.length > 0}
      actions={
        may('net-app-integration:net-device-integration:create') && (
          <Button size="small" icon="plus" onPress={() => setOpen(true)}>
            {texts.addDevices}
          </Button>
        )
      }
    >
      {active.isLoading && <Loading label={texts.devices} lines={3} />}
      {problem && <ErrorNote problem={problem} onRetry={active.reload} />}
      {!active.isLoading && !problem && items.length === 0 && <p className="quiet">{texts.devicesEmpty}</p>}
      {items.length > 0 && (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.deviceColumns.name}</th>
                <th scope="col">{texts.deviceColumns.network}</th>
                <th scope="col">{texts.deviceColumns.endpoint}</th>
                <th scope="col">{texts.deviceColumns.uplinks}</th>
                <th scope="col">{texts.deviceColumns.last}</th>
                <th scope="col">{texts.deviceColumns.status}</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {items.map((device) => (
                <tr key={device.id}>
                  <th scope="row">
                    <Text value={device.name} max={60} />
                    {device.lastError && (
                      <div className="quiet">
                        <Text value={device.lastError} max={120} /> <Time value={device.lastErrorAt} />
                      </div>
                    )}
                  </th>
                  <td>
                    <Text value={device.netDeviceId} max={60} mono />
                  </td>
                  <td>
                    <Link to={`/endpoints/${encodeURIComponent(device.endpointId)}`}>
                      <Text value={device.endpointId} max={60} />
                    </Link>
                  </td>
                  <td>{texts.uplinks(device.statistics.stored, device.statistics.received)}</td>
                  <td>{device.lastUplinkAt ? <Time value={device.lastUplinkAt} /> : texts.never}</td>
                  <td>
                    <StatusBadge status={device.status} />
                  </td>
                  <td className="cell-actions">
                    <DeviceMenu appIntegrationId={appIntegrationId} device={device} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {isOpen && <LinkDevices appIntegrationId={appIntegrationId} appName={appName} onClose={() => setOpen(false)} />}
    </Card>
  )
}

interface DeviceMenuProps {
  appIntegrationId: number
  device: { id: number; name: string; status: 'ACTIVE' | 'SUSPENDED' }
}

function DeviceMenu({ appIntegrationId, device: { id, name, status } }: DeviceMenuProps) {
  const may = useMay()
  const setStatus = useChange('appIntegrations.devices.status.update')
  const remove = useChange('appIntegrations.devices.delete')
  const ids = { appIntegrationId, deviceIntegrationId: id }
  return (
    <IntegrationMenu
      name={name}
      objectName={texts.deviceObjectName(name)}
      status={status}
      also={[]}
      setStatus={
        may('net-device-integration:update')
          ? { ...setStatus, run: (status) => setStatus.run({ ...ids, body: { status } }) }
          : undefined
      }
      remove={may('net-device-integration:delete') ? { ...remove, run: () => remove.run(ids) } : undefined}
      deletedText={texts.linkDeleted}
    />
  )
}
