/** The nodes of the platform, and how much memory, processor time and disk each of them uses. */
import type { ItemOf } from '../../api/operation-types.ts'
import { useGet, useList } from '../../api/query.ts'
import { formatBytes, formatSeconds, Meter } from '../../parts/amounts.tsx'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Card, Facts, Loading, Stat } from '../../parts/card.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import { Time } from '../../parts/time.tsx'
import { texts } from './texts.ts'

type Node = ItemOf<'platform.nodes.list'>

const refreshMs = 5_000

export default function NodesPage() {
  const platform = useGet('platform.get', {}, { refreshMs })
  const nodes = useList('platform.nodes.list', {}, { refreshMs })
  const { data } = platform
  return (
    <>
      <PageHeader
        title={texts.nodesTitle}
        lead={texts.nodesLead}
        actions={<AsCommand operation="platform.nodes.list" />}
      />
      {platform.isLoading && <Loading label={texts.loading} />}
      {platform.problem && <ErrorNote problem={platform.problem} onRetry={() => void platform.reload()} />}
      {data?.diskLow && <Note tone="warn">{texts.diskLow}</Note>}
      {data && data.versions.length > 1 && <Note tone="warn">{texts.upgrading}</Note>}
      {data && (
        <div className="stats">
          <Stat icon="server" label={texts.nodes} value={count(data.nodes)} note={<Text value={data.baseUrl} />} />
          <Stat
            icon="package"
            label={texts.version}
            value={<Text value={texts.versions(data.versions)} max={60} />}
            note={<Text value={data.runtime} />}
          />
          <Stat
            icon="database"
            label={texts.lastBackup}
            value={data.lastBackupAt ? <Time value={data.lastBackupAt} /> : texts.noBackup}
            to="/platform/backups"
          />
        </div>
      )}
      {nodes.problem && <ErrorNote problem={nodes.problem} onRetry={nodes.reload} />}
      <div className="columns">
        {nodes.items.map((node) => (
          <NodeCard key={node.id} node={node} />
        ))}
      </div>
    </>
  )
}

function NodeCard({ node }: { node: Node }) {
  const { usage } = node
  return (
    <Card
      title={(usage?.host ?? node.id).slice(0, 80)}
      actions={
        <>
          {node.current && <Badge tone="info">{texts.thisOne}</Badge>}
          <Badge tone={node.state === 'alive' ? 'good' : 'bad'}>
            {node.state === 'alive' ? texts.alive : texts.gone}
          </Badge>
        </>
      }
    >
      <div className="stack">
        <Facts
          items={[
            [texts.nodeFacts.version, <Text key="version" value={node.version} />],
            [texts.started, <Time key="started" value={node.startedAt} />],
            [texts.nodeFacts.heartbeat, texts.heartbeat(node.secondsSinceHeartbeat)],
            ...(usage
              ? ([
                  [texts.nodeFacts.load, texts.load(usage.loadAverage, usage.cores)],
                  [texts.nodeFacts.cpu, formatSeconds(usage.cpuSeconds)],
                ] as [string, string][])
              : []),
            [texts.nodeFacts.id, <Text key="id" value={node.id} mono />],
            ...Object.entries(node.addresses).map(
              ([name, address]) =>
                [name, <Text key={name} value={address} mono />] as [string, ReturnType<typeof Text>],
            ),
          ]}
        />
        {usage ? <NodeMeters usage={usage} /> : <p className="quiet">{texts.noUsage}</p>}
      </div>
    </Card>
  )
}

function NodeMeters({ usage: { memory, connections, disks } }: { usage: NonNullable<Node['usage']> }) {
  return (
    <>
      <Meter label={texts.memory} value={memory.residentBytes} max={memory.machineBytes}>
        {texts.memoryOf(formatBytes(memory.residentBytes), formatBytes(memory.machineBytes))}
      </Meter>
      <Meter label={texts.http} value={connections.http} max={connections.httpMax}>
        {texts.connections(connections.http, connections.httpMax)}
      </Meter>
      <Meter label={texts.mqtt} value={connections.mqtt} max={connections.mqttMax}>
        {texts.connections(connections.mqtt, connections.mqttMax)}
      </Meter>
      {disks.map(({ name, freeBytes, totalBytes, low }) => (
        <Meter key={name} label={texts.disks[name] ?? name} value={totalBytes - freeBytes} max={totalBytes} isBad={low}>
          {texts.free(formatBytes(freeBytes), formatBytes(totalBytes))}
        </Meter>
      ))}
    </>
  )
}
