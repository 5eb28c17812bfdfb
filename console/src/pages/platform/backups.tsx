/** The runs of backups and restores. */
import { type ReactNode, useState } from 'react'
import type { ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { formatBytes, formatSeconds } from '../../parts/amounts.tsx'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Facts } from '../../parts/card.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { EmptyState } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import { msOf, Time } from '../../parts/time.tsx'
import { texts } from './texts.ts'

type Run = ItemOf<'platform.backups.list'>

const columns: Column<Run>[] = [
  { ...{ id: 'kind', title: texts.backupColumns.kind, width: '7rem' }, cell: ({ kind }) => texts.kinds[kind] },
  {
    ...{ id: 'started', title: texts.backupColumns.started, width: '9rem' },
    cell: ({ startedAt }) => <Time value={startedAt} />,
  },
  {
    ...{ id: 'result', title: texts.backupColumns.result, width: '8rem' },
    cell: ({ problem }) => (
      <Badge tone={problem === undefined ? 'good' : 'bad'}>{problem === undefined ? texts.ok : texts.failed}</Badge>
    ),
  },
  {
    ...{ id: 'took', title: texts.backupColumns.took, width: '7rem', align: 'end' },
    cell: ({ startedAt, finishedAt }) => formatSeconds((msOf(finishedAt) - msOf(startedAt)) / 1000),
  },
  {
    ...{ id: 'bytes', title: texts.backupColumns.bytes, width: '7rem', align: 'end' },
    cell: ({ bytes }) => (bytes === undefined ? <Text value="" /> : formatBytes(bytes)),
  },
  {
    ...{ id: 'file', title: texts.backupColumns.file, width: 'minmax(12rem, 1fr)' },
    cell: ({ file }) => <Text value={file} max={120} mono />,
  },
  {
    ...{ id: 'host', title: texts.backupColumns.host, width: '9rem' },
    cell: ({ host }) => <Text value={host} max={60} />,
  },
]

export default function BackupsPage() {
  const [shown, setShown] = useState<Run>()
  const list = useList('platform.backups.list', {}, { refreshMs: 30_000 })
  return (
    <>
      <PageHeader
        title={texts.backupsTitle}
        lead={texts.backupsLead}
        actions={<AsCommand operation="platform.backups.list" />}
      />
      <DataTable
        label={texts.backupsTitle}
        list={list}
        columns={columns}
        rowId={({ kind, startedAt, host }) => `${kind} ${startedAt} ${host}`}
        onOpen={(run) => setShown(run)}
        empty={
          <EmptyState
            icon="database"
            title={texts.backupsEmptyTitle}
            actions={
              <>
                <code>{texts.backupCommand}</code>
                <CopyButton text={texts.backupCommand} />
              </>
            }
          >
            {texts.backupsEmptyText}
          </EmptyState>
        }
      />
      {shown && <RunDialog run={shown} onClose={() => setShown(undefined)} />}
    </>
  )
}

function RunDialog({ run, onClose }: { run: Run; onClose(): void }) {
  const known = (value: number | undefined) => (value === undefined ? <Text value="" /> : count(value))
  const items: [string, ReactNode][] = [
    ...(run.problem
      ? [[texts.facts.problem, <Text key="problem" value={run.problem} max={2000} />] as [string, ReactNode]]
      : []),
    [texts.backupColumns.kind, texts.kinds[run.kind]],
    [texts.backupColumns.started, <Time key="started" value={run.startedAt} style="full" />],
    [texts.facts.finished, <Time key="finished" value={run.finishedAt} style="full" />],
    [texts.backupColumns.host, <Text key="host" value={run.host} />],
    [texts.backupColumns.file, <Text key="file" value={run.file} mono />],
    [texts.facts.program, <Text key="program" value={run.program} />],
    [texts.facts.encrypted, run.encrypted ? texts.yes : texts.no],
    [texts.facts.withContents, run.withContents ? texts.yes : texts.no],
    [texts.facts.tables, known(run.tables)],
    [texts.backupColumns.rows, known(run.rows)],
    [texts.facts.sha, <Text key="sha" value={run.sha256} mono />],
  ]
  return (
    <Dialog title={texts.backupFacts} isOpen onClose={onClose} size="wide">
      <Facts items={items} />
    </Dialog>
  )
}
