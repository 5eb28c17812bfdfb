/** Numbers for administrators of the platform: tenants, nodes, size of the database, and the last backup. */
import { useMay } from '../../api/me.ts'
import { useGet, useList } from '../../api/query.ts'
import { formatBytes } from '../../parts/amounts.tsx'
import { Stat } from '../../parts/card.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { msOf, Time } from '../../parts/time.tsx'
import { texts } from './texts.ts'

const refreshMs = 15_000

export function PlatformNumbers() {
  const may = useMay()
  return (
    <>
      {may('identity:tenant:read') && <Tenants />}
      {may('platform:status:read') && <Status />}
    </>
  )
}

function Tenants() {
  const tenants = useList('tenants.list', {}, { refreshMs })
  return <Stat icon="building" label={texts.tenants} value={texts.number(tenants.total)} to="/tenants" />
}

function Status() {
  const nodes = useList('platform.nodes.list', {}, { refreshMs })
  const database = useGet('platform.database.get', {}, { refreshMs })
  const backups = useList('platform.backups.list', {}, { refreshMs })
  const problem = nodes.problem ?? database.problem ?? backups.problem
  const alive = nodes.items.filter(({ state }) => state === 'alive').length
  const lastBackup = backups.items
    .filter(({ kind, problem }) => kind === 'backup' && problem === undefined)
    .toSorted((a, b) => msOf(b.startedAt) - msOf(a.startedAt))[0]
  if (problem) return <ErrorNote problem={problem} onRetry={nodes.reload} />
  return (
    <>
      <Stat
        icon="server"
        label={texts.nodes}
        value={texts.number(nodes.isRead ? alive : undefined)}
        note={alive < nodes.items.length && texts.nodesAway(nodes.items.length - alive)}
        to="/platform/nodes"
      />
      <Stat
        icon="database"
        label={texts.database}
        value={database.data ? formatBytes(database.data.bytes) : texts.number(undefined)}
        to="/platform/database"
      />
      <Stat
        icon="download"
        label={texts.lastBackup}
        value={
          lastBackup ? <Time value={lastBackup.startedAt} /> : backups.isRead ? texts.noBackup : texts.number(undefined)
        }
        to="/platform/backups"
      />
    </>
  )
}
