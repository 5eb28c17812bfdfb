/** The database of the platform, and the jobs, events and tasks that wait in it. */
import type { ReactNode } from 'react'
import type { BodyOf } from '../../api/operation-types.ts'
import { useGet } from '../../api/query.ts'
import { formatBytes, formatSeconds, Meter } from '../../parts/amounts.tsx'
import { AsCommand } from '../../parts/as-command.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import { Time } from '../../parts/time.tsx'
import { texts } from './texts.ts'

const refreshMs = 10_000

export default function DatabasePage() {
  const database = useGet('platform.database.get', {}, { refreshMs })
  const queues = useGet('platform.queues.get', {}, { refreshMs })
  return (
    <>
      <PageHeader
        title={texts.databaseTitle}
        lead={texts.databaseLead}
        actions={<AsCommand operation="platform.database.get" />}
      />
      {database.isLoading && <Loading label={texts.loading} />}
      {database.problem && <ErrorNote problem={database.problem} onRetry={() => void database.reload()} />}
      {queues.problem && <ErrorNote problem={queues.problem} onRetry={() => void queues.reload()} />}
      <div className="columns">
        {database.data && (
          <div className="stack">
            <Server database={database.data} />
            <Tables tables={database.data.tables} />
          </div>
        )}
        {queues.data && (
          <div className="stack">
            <Jobs jobs={queues.data.jobs} />
            <Waiting queues={queues.data} />
          </div>
        )}
      </div>
    </>
  )
}

function Server({ database }: { database: BodyOf<'platform.database.get'> }) {
  const { connections } = database
  return (
    <Card title={texts.postgres}>
      <div className="stack">
        <Facts
          items={[
            [texts.size, formatBytes(database.bytes)],
            [texts.version, <Text key="version" value={database.version} max={80} />],
            [texts.started, <Time key="started" value={database.startedAt} />],
            [texts.activeConnections, count(connections.active)],
            [texts.longest, formatSeconds(database.longestTransactionSeconds)],
          ]}
        />
        <Meter label={texts.dbConnections} value={connections.total} max={connections.max}>
          {texts.dbConnectionsOf(connections.total, connections.max, connections.ownConnections)}
        </Meter>
      </div>
    </Card>
  )
}

/** A table of some rows; the first cell names the row. */
const FewRows = ({ columns, rows }: { columns: string[]; rows: { key: string; cells: ReactNode[] }[] }) => (
  <div className="scroll-x">
    <table className="plain-table">
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, cells: [first, ...rest] }) => (
          <tr key={key}>
            <th scope="row">{first}</th>
            {rest.map((cell, index) => (
              <td key={columns[index + 1]}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const Tables = ({ tables }: { tables: BodyOf<'platform.database.get'>['tables'] }) => (
  <Card title={texts.tables} flush>
    <FewRows
      columns={[texts.tableColumns.name, texts.tableColumns.bytes, texts.tableColumns.rows]}
      rows={tables.map(({ schema, name, bytes, rows }) => ({
        key: `${schema}.${name}`,
        cells: [
          <Text key="name" value={`${schema}.${name}`} max={80} mono />,
          formatBytes(bytes),
          count(Math.max(0, rows)),
        ],
      }))}
    />
  </Card>
)

type Queues = BodyOf<'platform.queues.get'>

function Jobs({ jobs }: { jobs: Queues['jobs'] }) {
  const { name, queued, delayed, active, failed } = texts.jobColumns
  const busy = jobs.filter((job) => job.failed + job.queued + job.active + job.delayed > 0)
  const idle = jobs.length - busy.length
  return (
    <Card title={texts.jobs} flush={busy.length > 0}>
      {busy.length > 0 && (
        <FewRows
          columns={[name, queued, active, delayed, failed]}
          rows={busy.map((job) => ({
            key: job.name,
            cells: [
              <Text key="name" value={job.name} max={80} mono />,
              count(job.queued),
              count(job.active),
              count(job.delayed),
              count(job.failed),
            ],
          }))}
        />
      )}
      {idle > 0 && <p className={busy.length > 0 ? 'card-note quiet' : 'quiet'}>{texts.idleQueues(idle)}</p>}
    </Card>
  )
}

function Waiting({ queues: { events, bulk } }: { queues: Queues }) {
  const eventColumns = texts.eventColumns
  const bulkColumns = texts.bulkColumns
  return (
    <>
      <Card title={texts.events} flush={events.length > 0}>
        {events.length === 0 ? (
          <p className="quiet">{texts.eventsEmpty}</p>
        ) : (
          <FewRows
            columns={[eventColumns.name, eventColumns.waiting, eventColumns.failing, eventColumns.oldest]}
            rows={events.map(({ subscription, waiting, failing, oldestAt }) => ({
              key: subscription,
              cells: [
                <Text key="name" value={subscription} max={80} mono />,
                count(waiting),
                count(failing),
                <Time key="oldest" value={oldestAt} />,
              ],
            }))}
          />
        )}
      </Card>
      <Card title={texts.bulk} flush={bulk.length > 0}>
        {bulk.length === 0 ? (
          <p className="quiet">{texts.bulkEmpty}</p>
        ) : (
          <FewRows
            columns={[bulkColumns.name, bulkColumns.state, bulkColumns.tasks, bulkColumns.oldest]}
            rows={bulk.map(({ type, state, tasks, oldestAt }) => ({
              key: `${type}/${state}`,
              cells: [
                <Text key="name" value={type} max={80} mono />,
                <Text key="state" value={state} />,
                count(tasks),
                <Time key="oldest" value={oldestAt} />,
              ],
            }))}
          />
        )}
      </Card>
    </>
  )
}
