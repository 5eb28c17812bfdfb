/** The progress and the differences of a replay, and the list of earlier replays. */
import { useState } from 'react'
import type { BodyOf, ItemOf } from '../../api/operation-types.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { Link } from '../../parts/link.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { Progress } from '../../parts/progress.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { replayTexts as texts } from './replay-texts.ts'

type Found = BodyOf<'rules.replays.get'>

const tones: Record<string, Tone> = { RUNNING: 'info', COMPLETED: 'good', FAILED: 'bad', CANCELED: 'quiet' }
const State = ({ status }: { status: string }) => (
  <Badge tone={tones[status] ?? 'quiet'}>{texts.states[status] ?? status}</Badge>
)

const pollMs = 1_000
const rowsMax = 100

export function ReplayResult({ ruleId, replayId }: { ruleId: string; replayId: string }) {
  const [isEnded, setEnded] = useState(false)
  const replay = useGet('rules.replays.get', { ruleId, replayId }, isEnded ? {} : { refreshMs: pollMs })
  const cancel = useChange('rules.replays.cancel')
  const toast = useToast()
  const { data } = replay
  if (data && data.status !== 'RUNNING' && !isEnded) setEnded(true)
  async function stop() {
    const outcome = await cancel.run({ ruleId, replayId })
    if (outcome.kind === 'done') toast(texts.canceled)
  }
  return (
    <Card
      title={texts.result}
      actions={
        data?.status === 'RUNNING' && (
          <Button size="small" icon="x" onPress={() => void stop()} isBusy={cancel.isRunning}>
            {texts.cancel}
          </Button>
        )
      }
    >
      {replay.isLoading && <Loading label={texts.loading} />}
      {replay.problem && <ErrorNote problem={replay.problem} onRetry={() => void replay.reload()} />}
      {cancel.problem && <ErrorNote problem={cancel.problem} />}
      {data && <Details replay={data} />}
    </Card>
  )
}

function Details({ replay }: { replay: Found }) {
  const { status, reason, progress, eventsCount, skippedCount, differences } = replay
  return (
    <div className="stack">
      <p>
        <State status={status} /> {reason && <Text value={reason} max={400} />}
      </p>
      {status !== 'COMPLETED' && <Progress label={texts.progress} value={progress} max={1} />}
      <Facts
        items={[
          [
            texts.facts.period,
            <span key="period">
              <Time value={replay.from} style="full" /> {texts.span} <Time value={replay.to} style="full" />
            </span>,
          ],
          [texts.facts.events, texts.count(eventsCount)],
          [texts.facts.skipped, texts.count(skippedCount)],
          [texts.facts.differences, texts.count(differences.length)],
        ]}
      />
      {differences.length > 0 ? <Differences differences={differences} /> : <NoDifference replay={replay} />}
    </div>
  )
}

function NoDifference({ replay: { status, eventsCount } }: { replay: Found }) {
  if (status !== 'COMPLETED') return <p className="quiet">{texts.noneYet}</p>
  return eventsCount === 0 ? <Note tone="warn">{texts.noMessages}</Note> : <Note tone="good">{texts.none}</Note>
}

function Differences({ differences }: { differences: Found['differences'] }) {
  return (
    <div className="scroll-x">
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{texts.columns.at}</th>
            <th scope="col">{texts.columns.endpoint}</th>
            <th scope="col">{texts.columns.before}</th>
            <th scope="col">{texts.columns.now}</th>
          </tr>
        </thead>
        <tbody>
          {differences.slice(0, rowsMax).map(({ eventId, endpointId, at, before, now }) => (
            <tr key={eventId}>
              <td>
                <Time value={at} style="full" />
              </td>
              <td>
                <Link to={`/endpoints/${encodeURIComponent(endpointId)}?tab=timeline`}>
                  <Text value={endpointId} max={60} />
                </Link>
              </td>
              <td>{before === null ? texts.notRun : <Text value={before} max={120} mono />}</td>
              <td>
                <Text value={now} max={120} mono />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {differences.length > rowsMax && <p className="quiet">{texts.more(rowsMax, differences.length)}</p>}
    </div>
  )
}

interface EarlierProps {
  ruleId: string
  shown: string
  onShow(id: string): void
}

export function EarlierReplays({ ruleId, shown, onShow }: EarlierProps) {
  const list = useList('rules.replays.list', { ruleId, size: 20 })
  return (
    <Card title={texts.earlier}>
      {list.isLoading && <Loading label={texts.loading} />}
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {!list.isLoading && !list.problem && list.items.length === 0 && <p className="quiet">{texts.earlierNone}</p>}
      {list.items.length > 0 && <ReplayTable replays={list.items} shown={shown} onShow={onShow} />}
    </Card>
  )
}

interface TableProps {
  replays: ItemOf<'rules.replays.list'>[]
  shown: string
  onShow(id: string): void
}

const ReplayTable = ({ replays, shown, onShow }: TableProps) => (
  <div className="scroll-x">
    <table className="plain-table">
      <thead>
        <tr>
          <th scope="col">{texts.earlierColumns.created}</th>
          <th scope="col">{texts.earlierColumns.state}</th>
          <th scope="col">{texts.earlierColumns.events}</th>
          <th scope="col">{texts.earlierColumns.differences}</th>
        </tr>
      </thead>
      <tbody>
        {replays.map(({ replayId, createdAt, status, eventsCount, differencesCount }) => (
          <tr key={replayId}>
            <th scope="row">
              <Button size="small" look="quiet" onPress={() => onShow(replayId)} aria-current={replayId === shown}>
                <Time value={createdAt} />
              </Button>
            </th>
            <td>
              <State status={status} />
            </td>
            <td>{texts.count(eventsCount)}</td>
            <td>{texts.count(differencesCount)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
