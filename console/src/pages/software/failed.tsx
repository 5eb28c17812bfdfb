/** Endpoints that could not apply a version. Shows the reasons, and offers the version again to one or all of these endpoints. */
import { useState } from 'react'
import { useChange, useList } from '../../api/query.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Link } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { cut, Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { formTexts } from './form-texts.ts'
import type { Software } from './values.ts'

const shownMax = 20

export function FailedEndpoints({
  software: { appName, version },
  mayUpdate,
}: {
  software: Software
  mayUpdate: boolean
}) {
  const list = useList('software.endpoints.list', { appName, failedVersion: version, limit: shownMax })
  const retry = useChange('software.rollout.retry')
  const [isAsking, setAsking] = useState(false)
  const toast = useToast()
  async function run(endpointIds: string[] | undefined) {
    const outcome = await retry.run({ appName, softwareVersion: version, body: endpointIds ? { endpointIds } : {} })
    if (outcome.kind !== 'done') return
    setAsking(false)
    toast(formTexts.retried(outcome.body.endpointsCount))
  }
  const rows = list.items.slice(0, shownMax)
  if (rows.length === 0 && !list.problem) return null
  return (
    <Card
      title={formTexts.failed}
      actions={
        mayUpdate && (
          <Button icon="refresh" size="small" onPress={() => setAsking(true)}>
            {formTexts.retryAll}
          </Button>
        )
      }
      flush
    >
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {retry.problem && !isAsking && <ErrorNote problem={retry.problem} />}
      <div className="scroll-x">
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">{formTexts.failedColumns.endpoint}</th>
              <th scope="col">{formTexts.failedColumns.reason}</th>
              <th scope="col">{formTexts.failedColumns.runs}</th>
              <th scope="col">{formTexts.failedColumns.at}</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {rows.map(({ endpointId, lastAppliedStatusCode, reasonPhrase, currentVersion, updatedDate }) => (
              <tr key={endpointId}>
                <th scope="row">
                  <Link to={`/endpoints/${encodeURIComponent(endpointId)}?tab=software`}>
                    <Text value={endpointId} max={60} />
                  </Link>
                </th>
                <td>
                  <Text value={lastAppliedStatusCode} mono />{' '}
                  {reasonPhrase ? (
                    <Text value={reasonPhrase} max={200} />
                  ) : (
                    <span className="quiet">{formTexts.noReason}</span>
                  )}
                </td>
                <td>
                  <Text value={currentVersion} max={40} />
                </td>
                <td>
                  <Time value={updatedDate} />
                </td>
                <td className="cell-actions">
                  {mayUpdate && (
                    <IconButton
                      icon="refresh"
                      label={formTexts.retry(cut(endpointId, 60).shown)}
                      isDisabled={retry.isRunning}
                      onPress={() => void run([endpointId])}
                    />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {(list.total ?? 0) > shownMax && (
        <p className="card-note">
          <Link to={`/software?tab=endpoints&state=failed&application=${encodeURIComponent(appName)}`}>
            {formTexts.moreFailed(list.total! - shownMax)}
          </Link>
        </p>
      )}
      <Confirm
        title={formTexts.retryAllTitle(version)}
        action={formTexts.retryAll}
        isOpen={isAsking}
        isBusy={retry.isRunning}
        problem={retry.problem}
        onConfirm={() => void run(undefined)}
        onClose={() => setAsking(false)}
      >
        {formTexts.retryAllText}
      </Confirm>
    </Card>
  )
}
