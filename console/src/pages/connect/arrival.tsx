/** Waits for the first message of the device. Shows its points, or why it was refused. */
import { useState } from 'react'
import { type Message, type Refusal, refusalText, rejectionOf, statusOf } from '../../api/device-messages.ts'
import { type LiveState, useLive } from '../../api/live.ts'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { rowsOf, type ValueRow } from '../../api/points.ts'
import { useGet, useList } from '../../api/query.ts'
import { useRefresh } from '../../api/refresh.ts'
import { Card } from '../../parts/card.tsx'
import { Chart } from '../../parts/charts.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { msOf, Time } from '../../parts/time.tsx'
import { texts } from './texts.ts'

type Endpoint = BodyOf<'endpoints.get'>

const shownPoints = 50
const shownRefusals = 3
const valuesMax = 5
const pollMs = 3_000

export function Arrival({ endpoint }: { endpoint: Endpoint }) {
  const { endpointId, appName, appVersion } = endpoint
  const may = useMay()
  const [refusals, setRefusals] = useState<Refusal[]>([])
  const topic = { applicationName: appName, endpointIds: [endpointId] }
  const live = useRefresh(
    [
      { topic: 'traffic', ...topic },
      { topic: 'series', ...topic },
    ],
    ['traffic', 'timeSeries'],
  )
  useLive(
    [{ topic: 'refusals' }],
    {
      onItems: (items) =>
        setRefusals((known) =>
          [...(items as unknown as Refusal[]).filter((one) => concerns(one, endpointId, appVersion.name)), ...known]
            .toSorted((a, b) => msOf(b.createdAt) - msOf(a.createdAt))
            .slice(0, shownRefusals),
        ),
    },
    { enabled: may('tenant:refusal:read') },
  )
  // Without a live connection, the page polls.
  const read = live.kind === 'live' ? {} : { refreshMs: pollMs }
  const last = useGet('timeSeries.last.get', { applicationName: appName, endpointId, limit: shownPoints }, read)
  const traffic = useList('traffic.list', { endpointIds: [endpointId], size: 10 }, read)
  const rows = rowsOf(last.data?.[endpointId])
  const series = rows
    .filter(({ points }) => points.length > 0)
    .map(({ name, points }) => ({ name, times: points.map(({ at }) => at), values: points.map(({ value }) => value) }))
  const message = traffic.items.find(({ direction }) => direction === 'INBOUND')
  const rejection = traffic.items.find((one) => (statusOf(one) ?? 0) >= 400)
  // As soon as points have arrived, refusals that are older than the newest point are no longer shown.
  const isNewerThanMessages = ({ createdAt }: { createdAt: string }) =>
    series.length === 0 || msOf(createdAt) > newestTime(rows)
  const isNewest = rejection !== undefined && msOf(rejection.createdAt) >= msOf(message?.createdAt ?? '')
  return (
    <Card title={texts.arrival}>
      <div className="connect-arrival" role="status">
        {series.length > 0 ? (
          <>
            <Note tone="good">
              <Text value={texts.arrived(newestOf(rows))} max={300} />
            </Note>
            <Chart name={texts.chart} series={series} height={200} />
          </>
        ) : message && !rejection ? (
          <>
            <Note tone="good">{texts.arrivedNoPoint}</Note>
            <Payload message={message} />
          </>
        ) : (
          <Waiting live={live} />
        )}
        {isNewest && <Rejected message={rejection} />}
        {refusals.filter(isNewerThanMessages).map((refusal) => (
          <Refused key={`${refusal.createdAt} ${refusal.reason}`} refusal={refusal} />
        ))}
        {last.problem && <ErrorNote problem={last.problem} onRetry={() => void last.reload()} />}
      </div>
      <div className="form-actions connect-next">
        <LinkButton to="/connect">{texts.another}</LinkButton>
        <LinkButton
          to={`/endpoints/${encodeURIComponent(endpointId)}`}
          look={series.length > 0 ? 'primary' : 'plain'}
          icon="cpu"
        >
          {texts.toEndpoint}
        </LinkButton>
      </div>
    </Card>
  )
}

const newestTime = (rows: ValueRow[]) => Math.max(...rows.map(({ at }) => msOf(at)))

const newestOf = (rows: ValueRow[]) =>
  rows
    .slice(0, valuesMax)
    .map(({ name, last }) => `${name} ${String(last)}`)
    .join(', ')

/**
 * Returns whether a refusal may concern this device. The refusal of a connection names neither endpoint nor version, so the connection may
 * be of this device.
 */
const concerns = (refusal: Refusal, endpointId: string, versionName: string) =>
  refusal.endpointId ? refusal.endpointId === endpointId : (refusal.appVersionName ?? versionName) === versionName

function Waiting({ live }: { live: LiveState }) {
  return (
    <div className="connect-waiting">
      <span className="connect-pulse" aria-hidden="true" />
      <p>{texts.waiting}</p>
      <p className="quiet">
        {live.kind === 'interrupted'
          ? texts.interrupted
          : live.kind === 'ended'
            ? texts.ended(live.message)
            : texts.waitingNote}
      </p>
      <details>
        <summary>{texts.help}</summary>
        <ul>
          {texts.helpItems.map((item) => (
            <li key={item}>{item}</li>
          ))}
        </ul>
      </details>
    </div>
  )
}

const Refused = ({ refusal }: { refusal: Refusal }) => (
  <Note tone="warn">
    <p>
      {refusal.endpointId ? texts.refusedOwn : texts.refusedOther} <Text value={refusalText(refusal)} max={400} />
    </p>
    <p className="quiet">
      <Time value={refusal.createdAt} />
      {refusal.count > 1 && `, ${texts.times(refusal.count)}`}
    </p>
  </Note>
)

const Rejected = ({ message }: { message: Message }) => (
  <Note tone="warn">
    <p>
      {texts.rejected(statusOf(message) ?? 0)} <Text value={rejectionOf(message) ?? texts.noReason} max={400} />
    </p>
    <p className="quiet">
      <Time value={message.createdAt} />
    </p>
  </Note>
)

const Payload = ({ message }: { message: Message }) => (
  <p className="connect-payload">
    <Text value={message.payload} max={500} mono />
  </p>
)
