/** One endpoint: what it is, and its metadata. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { JsonField, parseJson } from '../../parts/json-field.tsx'
import { Link } from '../../parts/link.tsx'
import { Menu } from '../../parts/menu.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../registry.ts'
import { Connection } from './connection.tsx'
import { texts } from './texts.ts'

export default function EndpointPage({ params }: PageProps) {
  const endpointId = params.endpointId!
  const endpoint = useGet('endpoints.get', { endpointId, include: ['metadata'] }, { refreshMs: 30_000 })
  const seen = useList('endpoints.directory.list', { search: endpointId, limit: 20 }, { refreshMs: 15_000 })
  const state = seen.items.find((one) => one.endpointId === endpointId)
  const may = useMay()
  const above = [{ title: texts.title, to: '/endpoints' }]
  const { data } = endpoint
  if (endpoint.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return (
      <>
        <PageHeader title={endpointId} above={above} />
        {endpoint.problem && <ErrorNote problem={endpoint.problem} onRetry={() => void endpoint.reload()} />}
      </>
    )
  const resources = [`endpoint-${endpointId}`, `application-${data.appName}`]
  return (
    <>
      <PageHeader
        title={typeof data.metadata?.name === 'string' ? data.metadata.name : endpointId}
        above={above}
        actions={
          <>
            <AsCommand operation="endpoints.get" args={{ endpointId, include: 'metadata' }} />
            {may('endpoint:delete', ...resources) && <DeleteEndpoint endpointId={endpointId} />}
          </>
        }
      />
      <div className="columns">
        <Card title={texts.now}>
          <Facts
            items={[
              [texts.columns.state, <Connection key="state" state={state?.connection ?? 'never'} />],
              [texts.columns.activity, <Time key="activity" value={state?.lastActivity} />],
              [texts.facts.id, <Text key="id" value={endpointId} mono />],
              [
                texts.facts.application,
                <Link key="application" to={`/applications/${encodeURIComponent(data.appName)}`}>
                  <Text value={data.appName} />
                </Link>,
              ],
              [texts.facts.version, <Text key="version" value={data.appVersion.name} />],
              [texts.facts.created, <Time key="created" value={data.createdDate} style="full" />],
              [texts.facts.changed, <Time key="changed" value={data.metadataUpdatedDate} />],
            ]}
          />
        </Card>
        <Metadata
          endpointId={endpointId}
          metadata={data.metadata ?? {}}
          mayChange={may('endpoint:update', ...resources)}
        />
      </div>
    </>
  )
}

function Metadata({
  endpointId,
  metadata,
  mayChange,
}: {
  endpointId: string
  metadata: Record<string, unknown>
  mayChange: boolean
}) {
  const [typed, setTyped] = useState<string>()
  const change = useChange('endpoints.metadata.update')
  const toast = useToast()
  const [wrong, setWrong] = useState<string>()
  const keys = Object.keys(metadata)
  async function save() {
    const { value, problem } = parseJson(typed!)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    setWrong(problem ?? (isObject ? undefined : texts.notObject))
    if (!isObject) return
    const outcome = await change.run({ endpointId, body: value as Record<string, unknown> })
    if (outcome.kind !== 'done') return
    setTyped(undefined)
    toast(texts.metadataSaved)
  }
  if (typed !== undefined)
    return (
      <Card title={texts.metadata}>
        <div className="form">
          <JsonField label={texts.json} name="metadata" value={typed} onChange={setTyped} problem={wrong} />
          {change.problem && <ErrorNote problem={change.problem} />}
          <div className="form-actions">
            <Button onPress={() => setTyped(undefined)}>{texts.cancel}</Button>
            <Button look="primary" onPress={() => void save()} isBusy={change.isRunning}>
              {texts.save}
            </Button>
          </div>
        </div>
      </Card>
    )
  return (
    <Card
      title={texts.metadata}
      actions={
        mayChange && (
          <Button size="small" icon="edit" onPress={() => setTyped(JSON.stringify(metadata, null, 2))}>
            {texts.edit}
          </Button>
        )
      }
    >
      {keys.length === 0 ? (
        <p className="quiet">{texts.metadataEmpty}</p>
      ) : (
        <Facts items={keys.slice(0, 200).map((key) => [key.slice(0, 100), <Text key={key} value={metadata[key]} />])} />
      )}
    </Card>
  )
}

function DeleteEndpoint({ endpointId }: { endpointId: string }) {
  const [isOpen, setOpen] = useState(false)
  const change = useChange('endpoints.delete')
  const [, navigate] = useLocation()
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ endpointId })
    if (outcome.kind !== 'done') return
    toast(texts.deleted(1))
    navigate('/endpoints')
  }
  return (
    <>
      <Menu
        entries={[{ id: 'delete', label: texts.delete, icon: 'trash', isDanger: true, onAction: () => setOpen(true) }]}
      />
      <ConfirmDelete
        what={texts.what(1)}
        also={[{ name: texts.deleteNote, count: 1 }]}
        isOpen={isOpen}
        isBusy={change.isRunning}
        problem={change.problem}
        onConfirm={() => void remove()}
        onClose={() => setOpen(false)}
      />
    </>
  )
}
