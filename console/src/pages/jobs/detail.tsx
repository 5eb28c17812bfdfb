/** One job: its progress, its parameters, the result of every item, and a button to cancel it. */
import { useEffect, useRef, useState } from 'react'
import { useMay, useMe } from '../../api/me.ts'
import type { BodyOf, ItemOf } from '../../api/operation-types.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { oneOf, useAddressState } from '../../parts/address-state.ts'
import { formatBytes } from '../../parts/amounts.tsx'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { openDownload } from '../../parts/copy.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { ItemProgress } from '../../parts/item-progress.tsx'
import { JsonView } from '../../parts/json-view.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { Owner } from './owner.tsx'
import { isOpen, StateBadge } from './state.tsx'
import { texts } from './texts.ts'

type Job = BodyOf<'jobs.get'>
type Item = ItemOf<'jobs.items.list'>

const openMs = 1_000
const endedMs = 30_000
const linkSeconds = 60

export default function JobPage({ params }: PageProps) {
  const jobId = params.jobId!
  const [refreshMs, setRefresh] = useState(openMs)
  const job = useGet('jobs.get', { jobId }, { refreshMs })
  const { data } = job
  const pollMs = data && !isOpen(data.state) ? endedMs : openMs
  if (pollMs !== refreshMs) setRefresh(pollMs)
  const above = [{ title: texts.title, to: '/jobs' }]
  if (job.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return (
      <>
        <PageHeader title={jobId} above={above} />
        {job.problem && <ErrorNote problem={job.problem} onRetry={() => void job.reload()} />}
      </>
    )
  return (
    <>
      <PageHeader
        title={data.title}
        above={above}
        lead={<StateBadge state={data.state} failed={data.counts.failed} />}
        actions={
          <>
            <AsCommand operation="jobs.get" args={{ jobId }} />
            <DownloadButton job={data} />
            <StartButton job={data} />
            <CancelButton job={data} />
          </>
        }
      />
      {job.problem && <ErrorNote problem={job.problem} onRetry={() => void job.reload()} />}
      <State job={data} />
      <CommandsNote job={data} />
      <div className="columns">
        <Details job={data} />
        <Card title={texts.parameters}>
          {Object.keys(data.parameters).length === 0 ? (
            <p className="quiet">{texts.noParameters}</p>
          ) : (
            <JsonView value={data.parameters} label={texts.parameters} />
          )}
        </Card>
      </div>
      {data.hasItems ? <Items job={data} /> : <p className="quiet">{texts.withoutItems}</p>}
    </>
  )
}

function State({ job: { title, state, counts, problem } }: { job: Job }) {
  return (
    <>
      <ItemProgress label={texts.progressOf(title)} {...counts} total={counts.total} />
      {state === 'prepared' && <Note>{texts.prepared}</Note>}
      {state === 'canceled' && <Note tone="warn">{texts.canceledText(counts.pending ?? 0)}</Note>}
      {problem && (
        <Note tone="warn">
          <Text value={texts.problem(problem)} />
        </Note>
      )}
    </>
  )
}

/** Shows a note with a link to the commands of a job. The job itself only stores commands; the devices return their results later. */
function CommandsNote({ job: { kind, state, applicationName, parameters } }: { job: Job }) {
  const { commandType } = parameters as { commandType?: unknown }
  if (kind !== 'commands.send' || state === 'prepared') return null
  if (applicationName === undefined || typeof commandType !== 'string') return null
  const to = `/commands?application=${encodeURIComponent(applicationName)}&types=${encodeURIComponent(commandType)}`
  return <Note action={<LinkButton to={to}>{texts.toCommands}</LinkButton>}>{texts.sentText}</Note>
}

const Details = ({ job }: { job: Job }) => (
  <Card title={texts.details}>
    <Facts
      items={[
        [texts.facts.total, job.counts.total === undefined ? texts.unknown : count(job.counts.total)],
        [texts.facts.succeeded, count(job.counts.succeeded)],
        [texts.facts.failed, count(job.counts.failed)],
        [texts.facts.pending, job.counts.pending === undefined ? texts.unknown : count(job.counts.pending)],
        [texts.facts.owner, <Owner key="owner" owner={job.owner} />],
        [texts.facts.application, <Text key="application" value={job.applicationName ?? texts.facts.several} />],
        [texts.facts.created, <Time key="created" value={job.createdDate} style="full" />],
        [texts.facts.finished, <Time key="finished" value={job.finishedDate} style="full" />],
        [texts.facts.kind, <Text key="kind" value={job.kind} mono />],
        [texts.facts.id, <Text key="id" value={job.jobId} mono />],
      ]}
    />
  </Card>
)

/** Downloads the file of an export with a link that needs no token and is valid for a minute. */
function DownloadButton({ job: { jobId, file } }: { job: Job }) {
  const link = useChange('links.create')
  const toast = useToast()
  if (!file) return null
  async function run() {
    const outcome = await link.run({
      body: { path: `/jobs/api/v1/jobs/${encodeURIComponent(jobId)}/file`, validSeconds: linkSeconds },
    })
    if (outcome.kind === 'done') openDownload(outcome.body.url, file!.name)
    else if (outcome.kind === 'failed') toast(outcome.problem.message, 'bad')
  }
  return (
    <Button look="primary" icon="download" onPress={() => void run()} isBusy={link.isRunning}>
      {texts.download(formatBytes(file.size))}
    </Button>
  )
}

/** Starts a job that is a preview. Only the creator of a preview can start it. */
function StartButton({ job }: { job: Job }) {
  const me = useMe()
  const start = useChange('jobs.execute', { also: ['endpoints'] })
  const toast = useToast()
  if (job.state !== 'prepared' || me.data?.subject.id !== job.owner.id) return null
  return (
    <Button
      look="primary"
      icon="play"
      isBusy={start.isRunning}
      onPress={() =>
        void start.run({ jobId: job.jobId }).then((outcome) => {
          if (outcome.kind === 'done') toast(texts.started)
          else if (outcome.kind === 'failed') toast(outcome.problem.message, 'bad')
        })
      }
    >
      {texts.start}
    </Button>
  )
}

function CancelButton({ job }: { job: Job }) {
  const [isAsked, setAsked] = useState(false)
  const cancel = useChange('jobs.cancel', { also: ['endpoints'] })
  const me = useMe()
  const may = useMay()
  const toast = useToast()
  const mayCancel =
    me.data?.subject.id === job.owner.id ||
    may('application:job:cancel', ...(job.applicationName ? [`application-${job.applicationName}`] : ['tenant-system']))
  if (!job.cancelable || !mayCancel) return null
  async function run() {
    const outcome = await cancel.run({ jobId: job.jobId })
    if (outcome.kind !== 'done') return
    toast(texts.canceled)
    setAsked(false)
  }
  return (
    <>
      <Button icon="x" onPress={() => setAsked(true)}>
        {texts.cancel}
      </Button>
      <Dialog
        title={texts.cancelTitle}
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        isAlert
        actions={
          <>
            <Button onPress={() => setAsked(false)}>{texts.keep}</Button>
            <Button look="danger" onPress={() => void run()} isBusy={cancel.isRunning}>
              {texts.cancel}
            </Button>
          </>
        }
      >
        <p>{texts.cancelText(job.counts.pending)}</p>
        {cancel.problem && <ErrorNote problem={cancel.problem} />}
      </Dialog>
    </>
  )
}

const itemStates = ['all', 'failed', 'pending', 'succeeded'] as const
const tones: Record<Item['state'], Tone> = { succeeded: 'good', failed: 'bad', pending: 'quiet' }

const columns: Column<Item>[] = [
  { id: 'position', title: texts.position, width: '5rem', cell: ({ position }) => count(position + 1) },
  {
    ...{ id: 'endpoint', title: texts.endpoint, width: 'minmax(11rem, 1.5fr)' },
    cell: ({ endpointId }) =>
      endpointId === undefined ? (
        <Text value="" />
      ) : (
        <Link to={`/endpoints/${encodeURIComponent(endpointId)}`}>
          <Text value={endpointId} max={80} />
        </Link>
      ),
  },
  {
    ...{ id: 'state', title: texts.result, width: 'minmax(7rem, 0.7fr)' },
    cell: ({ state }) => <Badge tone={tones[state]}>{texts.itemStates[state]}</Badge>,
  },
  {
    ...{ id: 'reason', title: texts.reason, width: 'minmax(12rem, 2fr)' },
    cell: ({ reason, commandId }) => (
      <Text value={reason ?? (commandId === undefined ? '' : texts.command(commandId))} max={200} />
    ),
  },
]

function Items({ job }: { job: Job }) {
  const address = useAddressState({ items: oneOf(itemStates, 'all') })
  const state = address.values.items
  const { counts, jobId } = job
  const args = { jobId, ...(state !== 'all' && { state }) }
  const list = useList('jobs.items.list', args, isOpen(job.state) ? { refreshMs: 3_000 } : {})
  // The last items can end after the items of an open job were last read, so the items are read once more when the job has ended.
  const shown = useRef(job.state)
  useEffect(() => {
    if (shown.current === job.state) return
    shown.current = job.state
    list.reload()
  }, [job.state, list.reload])
  const numbers = { all: counts.total, succeeded: counts.succeeded, failed: counts.failed, pending: counts.pending }
  return (
    <>
      <Segments
        label={texts.itemState}
        value={state}
        onChange={(items) => address.set({ items })}
        options={itemStates.map((value) => ({ value, label: texts.itemStates[value], count: numbers[value] }))}
      />
      <DataTable
        label={texts.items}
        list={list}
        columns={columns}
        rowId={({ position }) => String(position)}
        empty={<EmptyState icon="list" title={texts.noItems} />}
      />
    </>
  )
}
