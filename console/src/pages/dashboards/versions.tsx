/** Lists the versions of a dashboard with their changes, and restores a version. */
import { useState } from 'react'
import type { BodyOf, ItemOf } from '../../api/operation-types.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Difference } from '../../parts/difference.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { Dashboard } from './definition.ts'
import { texts } from './texts.ts'

type Version = ItemOf<'dashboards.versions.list'>
type Full = BodyOf<'dashboards.versions.get'>

export interface VersionsProps {
  dashboard: Dashboard
  etag: string | undefined
  mayRestore: boolean
}

/** Returns the contents as lines of text, without the number and author of the version. */
const linesOf = ({ name, description, definition }: Full) => JSON.stringify({ name, description, definition }, null, 2)

export default function Versions({ dashboard, etag, mayRestore }: VersionsProps) {
  const { dashboardId } = dashboard
  const list = useList('dashboards.versions.list', { dashboardId })
  const [number, setNumber] = useState<number>()
  const [restored, setRestored] = useState<number>()
  if (list.problem) return <ErrorNote problem={list.problem} onRetry={list.reload} />
  if (list.isLoading) return <Loading label={texts.loading} />
  const versions = list.items
  const at = Math.max(
    0,
    versions.findIndex(({ version }) => version === number),
  )
  return (
    <div className="columns">
      <Card title={texts.showVersions}>
        <p className="quiet">{texts.versionsNote}</p>
        <VersionTable
          versions={versions}
          current={dashboard.version}
          onShow={setNumber}
          {...(mayRestore && { onRestore: setRestored })}
        />
      </Card>
      {versions[at] && <Changes dashboardId={dashboardId} shown={versions[at]} before={versions[at + 1]} />}
      {restored !== undefined && (
        <RestoreDialog
          dashboardId={dashboardId}
          version={restored}
          etag={etag}
          onClose={() => setRestored(undefined)}
        />
      )}
    </div>
  )
}

function Changes({ dashboardId, shown, before }: { dashboardId: string; shown: Version; before: Version | undefined }) {
  const now = useGet('dashboards.versions.get', { dashboardId, version: shown.version })
  const earlier = useGet(
    'dashboards.versions.get',
    { dashboardId, version: before?.version ?? 1 },
    { enabled: before !== undefined },
  )
  const problem = now.problem ?? earlier.problem
  return (
    <Card title={texts.compare(shown.version)}>
      {problem ? (
        <ErrorNote problem={problem} />
      ) : before === undefined ? (
        <p className="quiet">{texts.versionFirst}</p>
      ) : now.data && earlier.data ? (
        <Difference label={texts.compare(shown.version)} before={linesOf(earlier.data)} after={linesOf(now.data)} />
      ) : (
        <Loading label={texts.loading} />
      )}
    </Card>
  )
}

function VersionTable({
  versions,
  current,
  onShow,
  onRestore,
}: {
  versions: readonly Version[]
  current: number
  onShow(version: number): void
  onRestore?: (version: number) => void
}) {
  return (
    <div className="scroll-x">
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{texts.versionColumns.version}</th>
            <th scope="col">{texts.versionColumns.by}</th>
            <th scope="col">{texts.versionColumns.at}</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {versions.map(({ version, author, createdDate }) => (
            <tr key={version}>
              <th scope="row">
                <Button size="small" look="quiet" onPress={() => onShow(version)} aria-label={texts.compare(version)}>
                  {version}
                </Button>
              </th>
              <td>
                <Text value={author.name ?? author.id} max={40} />
              </td>
              <td>
                <Time value={createdDate} />
              </td>
              <td className="cell-actions">
                {version === current ? (
                  <Badge tone="good">{texts.current}</Badge>
                ) : (
                  onRestore && (
                    <Button
                      size="small"
                      onPress={() => onRestore(version)}
                      aria-label={`${texts.restore} ${texts.versionColumns.version.toLowerCase()} ${version}`}
                    >
                      {texts.restore}
                    </Button>
                  )
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function RestoreDialog({
  dashboardId,
  version,
  etag,
  onClose,
}: {
  dashboardId: string
  version: number
  etag: string | undefined
  onClose(): void
}) {
  const restore = useChange('dashboards.versions.restore')
  const toast = useToast()
  async function run() {
    const outcome = await restore.run({ dashboardId, version }, { ifMatch: etag })
    if (outcome.kind === 'failed') return
    onClose()
    if (outcome.kind === 'done') toast(texts.restored)
    else toast(texts.restoreConflict, 'bad')
  }
  return (
    <Confirm
      title={texts.restoreTitle(version)}
      action={texts.restore}
      isOpen
      isBusy={restore.isRunning}
      problem={restore.problem}
      onConfirm={() => void run()}
      onClose={onClose}
    >
      {texts.restoreText}
    </Confirm>
  )
}
