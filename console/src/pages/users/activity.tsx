/** The last changes that a user made, from the audit log. */
import type { BodyOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { Card, Loading } from '../../parts/card.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { texts } from './texts.ts'

const shownMax = 25

export function Activity({ user }: { user: BodyOf<'users.get'> }) {
  const list = useList('auditRecords.list', { actor: user.id, size: shownMax })
  if (list.isLoading) return <Loading label={texts.activity} />
  return (
    <Card
      title={texts.activity}
      flush={list.items.length > 0}
      actions={
        <LinkButton to={`/audit?actor=${encodeURIComponent(user.id)}`} icon="list">
          {texts.activityAll}
        </LinkButton>
      }
    >
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {!list.problem && list.items.length === 0 && <p className="quiet">{texts.activityEmpty}</p>}
      {list.items.length > 0 && (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.activityColumns.at}</th>
                <th scope="col">{texts.activityColumns.operation}</th>
                <th scope="col">{texts.activityColumns.resource}</th>
                <th scope="col">{texts.activityColumns.status}</th>
              </tr>
            </thead>
            <tbody>
              {list.items.slice(0, shownMax).map((record) => (
                <tr key={record.id}>
                  <td>
                    <Time value={record.at} />
                  </td>
                  <th scope="row">
                    <Text value={record.operation} max={60} mono />
                  </th>
                  <td>
                    <Text value={record.resource} max={80} mono />
                  </td>
                  <td>{record.status ?? ''}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}
