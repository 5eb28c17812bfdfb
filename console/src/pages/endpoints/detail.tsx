/** One endpoint: its state at the top, and a tab for each task. */
import { lazy, Suspense, useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { BodyOf, ItemOf } from '../../api/operation-types.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { useRefresh } from '../../api/refresh.ts'
import { text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Loading } from '../../parts/card.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { ConnectionBadge } from '../../parts/connection.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Link } from '../../parts/link.tsx'
import { Menu } from '../../parts/menu.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { cut, Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { ActAsDevice } from './act.tsx'
import { texts } from './detail-texts.ts'
import type { Endpoint, TabProps } from './tab.ts'

const tabs = {
  now: lazy(() => import('./now.tsx')),
  history: lazy(() => import('./history.tsx')),
  timeline: lazy(() => import('./timeline.tsx')),
  metadata: lazy(() => import('./metadata.tsx')),
  configuration: lazy(() => import('./configuration.tsx')),
  commands: lazy(() => import('./commands.tsx')),
  software: lazy(() => import('./software.tsx')),
  files: lazy(() => import('./files.tsx')),
  relations: lazy(() => import('./relations.tsx')),
  access: lazy(() => import('./access.tsx')),
}
type TabName = keyof typeof tabs

const liveTopics = ['traffic', 'series', 'connection']

const isTab = (name: string): name is TabName => Object.hasOwn(tabs, name)

export default function EndpointPage({ params }: PageProps) {
  const endpointId = params.endpointId!
  const endpoint = useGet('endpoints.get', { endpointId, include: ['metadata', 'filters'] }, { refreshMs: 15_000 })
  const { tab } = useAddressState({ tab: text('now') }).values
  const may = useMay()
  const [heardAt, setHeardAt] = useState('')
  const entry = useDirectoryEntry(endpointId, heardAt)
  const appName = endpoint.data?.appName ?? ''
  const live = useRefresh(
    liveTopics.map((topic) => ({
      ...{ topic, applicationName: appName, endpointIds: [endpointId] },
      // The messages of the last minute are sent too, because the directory has possibly not recorded their activity yet.
      ...(topic === 'traffic' && { since: 'now-1m' }),
    })),
    ['traffic', 'timeSeries', 'endpoints'],
    { enabled: appName !== '', onItems: (items, topic) => topic === 'traffic' && setHeardAt(newestOf(items)) },
  )
  const above = [{ title: texts.endpoints, to: '/endpoints' }]
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
  const current = isTab(tab) ? tab : 'now'
  const Tab = tabs[current]
  const props: TabProps = {
    endpoint: data,
    entry,
    mayUpdate: may('endpoint:update', ...resources),
    resources,
  }
  return (
    <>
      <PageHeader
        title={typeof data.metadata?.name === 'string' ? data.metadata.name : endpointId}
        above={above}
        lead={<Strip endpoint={data} entry={entry} isLive={live.kind === 'live'} />}
        actions={
          <>
            <AsCommand operation="endpoints.get" args={{ endpointId, include: 'metadata' }} />
            {props.mayUpdate && <ActAsDevice endpoint={data} />}
            <Actions {...props} mayDelete={may('endpoint:delete', ...resources)} />
          </>
        }
      />
      {endpoint.problem && <ErrorNote problem={endpoint.problem} onRetry={() => void endpoint.reload()} />}
      {!isTab(tab) && <Note tone="warn">{texts.noTab(cut(tab, 40).shown)}</Note>}
      <Tabs
        label={texts.tabs}
        current={current}
        tabs={(Object.keys(tabs) as TabName[]).map((id) => ({ id, title: texts.tab[id] }))}
      >
        <Suspense fallback={<Loading label={texts.loading} />}>
          <Tab {...props} />
        </Suspense>
      </Tabs>
    </>
  )
}

/** Returns an updater for a React state that holds the time of the newest message from the device. */
const newestOf = (messages: unknown[]) => (before: string) =>
  (messages as { direction: string; createdAt: string }[])
    .filter(({ direction }) => direction === 'INBOUND')
    .reduce((newest, { createdAt }) => (createdAt > newest ? createdAt : newest), before)

/**
 * Reads connection and last activity, which only the directory has. The directory records activity up to a minute late, so a later time of
 * a live message takes precedence.
 */
function useDirectoryEntry(endpointId: string, heardAt: string): ItemOf<'endpoints.directory.list'> | undefined {
  const { items } = useList('endpoints.directory.list', { endpointId, limit: 1 }, { refreshMs: 5_000 })
  const entry = items.find((item) => item.endpointId === endpointId)
  return entry && heardAt > (entry.lastActivity ?? '') ? { ...entry, lastActivity: heardAt } : entry
}

/** Shows the most important facts above every tab. */
function Strip({ endpoint, entry, isLive }: { endpoint: Endpoint; entry: TabProps['entry']; isLive: boolean }) {
  return (
    <span className="endpoint-strip">
      {entry && <ConnectionBadge state={entry.connection} />}
      <Text value={endpoint.endpointId} mono max={80} />
      <Link to={`/applications/${encodeURIComponent(endpoint.appName)}`}>
        <Text value={endpoint.appVersion.name} max={60} />
      </Link>
      {entry?.lastActivity && (
        <span>
          {texts.facts.activity} <Time value={entry.lastActivity} />
        </span>
      )}
      {isLive && (
        <span className="endpoint-live" title={texts.liveNote}>
          <Icon name="zap" size={13} />
          {texts.live}
        </span>
      )}
    </span>
  )
}

function Actions(props: TabProps & { mayDelete: boolean }) {
  const [open, setOpen] = useState<'delete' | 'move'>()
  const { mayDelete, mayUpdate, endpoint } = props
  const dashboard = `/endpoints/${encodeURIComponent(endpoint.endpointId)}/dashboard`
  const entries = [
    { id: 'dashboard', label: texts.dashboard, icon: 'dashboard' as const, to: dashboard },
    ...(mayUpdate ? [{ id: 'move', label: texts.move, icon: 'layers' as const, onAction: () => setOpen('move') }] : []),
    ...(mayDelete
      ? [
          {
            id: 'delete',
            label: texts.delete,
            icon: 'trash' as const,
            isDanger: true,
            onAction: () => setOpen('delete'),
          },
        ]
      : []),
  ]
  return (
    <>
      <Menu entries={entries} />
      {open === 'delete' && <DeleteEndpoint {...props} onClose={() => setOpen(undefined)} />}
      {open === 'move' && <MoveEndpoint {...props} onClose={() => setOpen(undefined)} />}
    </>
  )
}

/** Counts the objects that are deleted together with the endpoint. */
function useDeleted({ endpointId, appName, metadata }: Endpoint) {
  const tokens = useList('tokens.list', { endpointId, limit: 1 })
  const files = useList('files.list', { appName, endpointId, limit: 1 })
  const contains = useList('endpoints.relations.list', { endpointId, relation: 'contains', limit: 1 })
  const contained = useList('endpoints.relations.list', { endpointId, relation: 'is_contained_by', limit: 1 })
  const series = useGet('timeSeries.last.get', { applicationName: appName, endpointId })
  if (tokens.isLoading || files.isLoading || contains.isLoading || contained.isLoading || series.isLoading)
    return undefined
  const names = texts.deleteAlso
  return [
    { name: names.tokens, count: tokens.total ?? 0 },
    { name: names.keys, count: Object.keys(metadata ?? {}).length },
    {
      name: names.series,
      count: Object.keys((series.data as BodyOf<'timeSeries.last.get'>)?.[endpointId] ?? {}).length,
    },
    { name: names.files, count: files.total ?? 0 },
    { name: names.relations, count: (contains.total ?? 0) + (contained.total ?? 0) },
  ]
}

function DeleteEndpoint({ endpoint, onClose }: TabProps & { onClose(): void }) {
  const { endpointId } = endpoint
  const change = useChange('endpoints.delete')
  const [, navigate] = useLocation()
  const toast = useToast()
  const also = useDeleted(endpoint)
  async function remove() {
    const outcome = await change.run({ endpointId })
    if (outcome.kind !== 'done') return
    toast(texts.deleted)
    navigate('/endpoints')
  }
  return (
    <ConfirmDelete
      objectName={texts.deleteObjectName(cut(endpointId, 80).shown)}
      also={also}
      isOpen
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void remove()}
      onClose={onClose}
    />
  )
}

function MoveEndpoint({ endpoint, onClose }: TabProps & { onClose(): void }) {
  const { endpointId, appName } = endpoint
  const versions = useList('applications.versions.list', { appName })
  const [version, setVersion] = useState(endpoint.appVersion.name)
  const change = useChange('endpoints.version.update')
  const toast = useToast()
  async function save() {
    const outcome = await change.run({ endpointId, body: { name: version } })
    if (outcome.kind !== 'done') return
    toast(texts.moved)
    onClose()
  }
  return (
    <Dialog
      title={texts.move}
      isOpen
      onClose={onClose}
      actions={
        <>
          <AsCommand operation="endpoints.version.update" args={{ endpointId, body: { name: version } }} />
          <CancelButton onPress={onClose} />
          <Button look="primary" onPress={() => void save()} isBusy={change.isRunning}>
            {texts.save}
          </Button>
        </>
      }
    >
      <SelectField
        label={texts.version}
        name="name"
        value={version}
        onChange={setVersion}
        options={versions.items.map(({ name }) => ({ value: name, label: name }))}
        isRequired
      />
      {change.problem && <ErrorNote problem={change.problem} />}
    </Dialog>
  )
}
