/** One VPN client: its facts, its profile, revocation and deletion. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { textOf } from '../../api/download.ts'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { saveText } from '../../parts/copy.tsx'
import { Link } from '../../parts/link.tsx'
import { Menu } from '../../parts/menu.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { ClientForm } from './form.tsx'
import { texts } from './texts.ts'

type VpnClient = BodyOf<'vpnClients.get'>['data']

export default function VpnClientPage({ params }: PageProps) {
  const id = params.id!
  const client = useGet('vpnClients.get', { vpnclientID: id }, { refreshMs: 30_000 })
  const [isEditing, setEditing] = useState(false)
  const may = useMay()
  const above = [{ title: texts.title, to: '/vpn' }]
  const data = client.data?.data
  if (client.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return (
      <>
        <PageHeader title={id} above={above} />
        {client.problem && <ErrorNote problem={client.problem} onRetry={() => void client.reload()} />}
      </>
    )
  const isActive = data.state === 'active'
  const mayChange = isActive && may('vpnclient:update')
  return (
    <>
      <PageHeader
        title={data.name}
        above={above}
        lead={<Badge tone={isActive ? 'good' : 'quiet'}>{texts.states[data.state]}</Badge>}
        actions={
          <>
            <AsCommand operation="vpnClients.get" args={{ vpnclientID: id }} />
            {isActive && <SaveProfile client={data} />}
            {may('vpnclient:delete') && <EndClient client={data} />}
          </>
        }
      />
      {isActive ? <Note tone="warn">{texts.downloadNote}</Note> : <Note>{texts.isRevoked}</Note>}
      <div className="columns">
        <Card title={texts.about}>
          <Facts
            items={[
              [texts.facts.type, `${texts.types[data.type]}. ${texts.typeNotes[data.type]}`],
              [texts.facts.address, <Text key="address" value={data.ipAddress} mono />],
              [texts.facts.subnet, <Text key="subnet" value={data.subnet} mono />],
              [texts.facts.protocol, <Text key="protocol" value={data.protocol.toUpperCase()} />],
              [texts.facts.endpoint, <Endpoint key="endpoint" id={data.endpointId} />],
              [texts.facts.application, <Text key="application" value={data.application} />],
              [texts.facts.created, <Time key="created" value={data.created} style="full" />],
              [
                texts.facts.connected,
                data.lastConnected ? <Time key="connected" value={data.lastConnected} /> : texts.never,
              ],
              [texts.facts.id, <Text key="id" value={data.id} mono />],
            ]}
          />
        </Card>
        {isEditing ? (
          <ClientForm client={data} onDone={() => setEditing(false)} />
        ) : (
          <Card
            title={texts.login}
            actions={
              mayChange && (
                <Button size="small" icon="edit" onPress={() => setEditing(true)}>
                  {texts.edit}
                </Button>
              )
            }
          >
            <Facts
              items={[
                [texts.facts.description, <Text key="description" value={data.description} max={1000} />],
                [texts.facts.username, <Text key="username" value={data.username} mono />],
                [texts.facts.sshKey, data.sshKey ? texts.stored : texts.none],
              ]}
            />
          </Card>
        )}
      </div>
    </>
  )
}

const Endpoint = ({ id }: { id: string | undefined }) =>
  id === undefined ? (
    <Text value="" />
  ) : (
    <Link to={`/endpoints/${encodeURIComponent(id)}`}>
      <Text value={id} max={80} />
    </Link>
  )

function SaveProfile({ client: { id, name } }: { client: VpnClient }) {
  const download = useChange('vpnClients.config.download')
  const toast = useToast()
  async function save() {
    const outcome = await download.run({ vpnclientID: id })
    if (outcome.kind !== 'done') {
      if (outcome.kind === 'failed') toast(outcome.problem.message, 'bad')
      return
    }
    saveText(`${name}.ovpn`, await textOf(outcome.body), 'application/x-openvpn-profile')
    toast(texts.saved)
  }
  return (
    <Button look="primary" icon="download" onPress={() => void save()} isBusy={download.isRunning}>
      {texts.download}
    </Button>
  )
}

function EndClient({ client: { id, name, state } }: { client: VpnClient }) {
  const [isOpen, setOpen] = useState(false)
  // The same operation revokes an active client and deletes a revoked client. Another administrator can revoke the client while the dialog
  // is open, and the dialog then must not become the dialog of the deletion.
  const [asked, setAsked] = useState<'revoke' | 'delete'>('revoke')
  const change = useChange('vpnClients.delete', { staysOpen: asked === 'revoke' })
  const [, navigate] = useLocation()
  const toast = useToast()
  const isActive = state === 'active'
  async function run() {
    const outcome = await change.run({ vpnclientID: id })
    if (outcome.kind !== 'done') return
    toast(asked === 'revoke' ? texts.revoked : texts.deleted)
    setOpen(false)
    if (asked === 'delete') navigate('/vpn')
  }
  function ask() {
    setAsked(isActive ? 'revoke' : 'delete')
    setOpen(true)
  }
  const common = {
    isOpen,
    isBusy: change.isRunning,
    problem: change.problem,
    onConfirm: () => void run(),
    onClose: () => setOpen(false),
  }
  return (
    <>
      <Menu
        entries={[
          {
            ...{ id: 'end', label: isActive ? texts.revoke : texts.delete, isDanger: true },
            icon: isActive ? 'lock' : 'trash',
            onAction: ask,
          },
        ]}
      />
      {asked === 'revoke' ? (
        <Confirm title={texts.revokeTitle(name)} action={texts.revoke} isDanger isOutdated={!isActive} {...common}>
          {texts.revokeText}
        </Confirm>
      ) : (
        <ConfirmDelete objectName={texts.objectName(name)} also={[]} {...common} />
      )}
    </>
  )
}
