/** Lists the versions of a rule, and shows how a version changed the script. */
import { useState } from 'react'
import type { ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { CodeView } from '../../parts/code-view.tsx'
import { Difference } from '../../parts/difference.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { texts } from './texts.ts'

type Version = ItemOf<'rules.versions.list'>

export function Versions({ ruleId }: { ruleId: string }) {
  const list = useList('rules.versions.list', { ruleId, size: 100 })
  const [number, setNumber] = useState<number>()
  if (list.isLoading) return <Loading label={texts.loading} />
  if (list.problem) return <ErrorNote problem={list.problem} onRetry={list.reload} />
  const at = Math.max(
    0,
    list.items.findIndex(({ version }) => version === number),
  )
  const shown = list.items[at]
  const before = list.items[at + 1]
  return (
    <div className="columns">
      <Card title={texts.detailTabs.versions}>
        <p className="quiet">{texts.versionsNote}</p>
        <VersionTable versions={list.items} onShow={setNumber} />
      </Card>
      {shown && (
        <Card title={texts.compare(shown.version)}>
          {before ? (
            <Difference label={texts.compare(shown.version)} before={before.expression} after={shown.expression} />
          ) : (
            <>
              <p className="quiet">{texts.versionFirst}</p>
              <CodeView label={texts.expression} text={shown.expression} />
            </>
          )}
        </Card>
      )}
    </div>
  )
}

const VersionTable = ({ versions, onShow }: { versions: Version[]; onShow(version: number): void }) => (
  <div className="scroll-x">
    <table className="plain-table">
      <thead>
        <tr>
          <th scope="col">{texts.versionColumns.version}</th>
          <th scope="col">{texts.versionColumns.state}</th>
          <th scope="col">{texts.versionColumns.by}</th>
          <th scope="col">{texts.versionColumns.updated}</th>
        </tr>
      </thead>
      <tbody>
        {versions.map(({ version, state, updatedBy, updatedAt }) => (
          <tr key={version}>
            <th scope="row">
              <Button size="small" look="quiet" onPress={() => onShow(version)} aria-label={texts.compare(version)}>
                {version}
              </Button>
            </th>
            <td>
              <Badge tone={state === 'ENABLED' ? 'good' : 'quiet'}>{texts.states[state]}</Badge>
            </td>
            <td>
              <Text value={updatedBy} max={40} />
            </td>
            <td>
              <Time value={updatedAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
