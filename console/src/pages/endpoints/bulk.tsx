/** Starts a job over many endpoints: asks for its parameters, shows the preview that the platform returns, then starts the job. */
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { ArgumentsOf, BodyOf } from '../../api/operation-types.ts'
import { useChange } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { JsonView } from '../../parts/json-view.tsx'
import { Menu, type MenuEntry } from '../../parts/menu.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import type { Selection } from '../../parts/selection.ts'
import { Text } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { useUnsaved } from '../../parts/unsaved.ts'
import { BulkForm, type BulkKind, type BulkParameters, bodyOf } from './bulk-form.tsx'
import { type Conditions, selectOf } from './conditions.ts'
import { bulkTexts as texts } from './texts.ts'

type Job = BodyOf<'jobs.deletions.create'>
type Select = ArgumentsOf<'jobs.deletions.create'>['body']['select']

export interface BulkProps {
  selection: Selection
  conditions: Conditions
  total: number | undefined
  application: string
  onStarted(): void
}

const operations = {
  command: 'jobs.commands.create',
  metadata: 'jobs.metadataPatches.create',
  version: 'jobs.versionChanges.create',
  configuration: 'jobs.configurations.create',
  deletion: 'jobs.deletions.create',
} as const

const icons = { command: 'send', metadata: 'tag', version: 'layers', configuration: 'sliders' } as const

export function BulkActions({ onChoose, ...props }: BulkProps & { onChoose(kind: BulkKind): void }) {
  const may = useMay()
  const changes = may('endpoint:update')
    ? (['command', 'metadata', 'version', 'configuration'] as const).map(
        (id): MenuEntry => ({ id, label: texts[id].action, icon: icons[id], onAction: () => onChoose(id) }),
      )
    : []
  return (
    <>
      <ExportButton {...props} />
      {changes.length > 0 && (
        <Menu
          label={texts.actions}
          entries={changes}
          trigger={
            <Button size="small" icon="zap">
              {texts.actions}
            </Button>
          }
        />
      )}
      {may('endpoint:delete') && (
        <Button size="small" look="danger" icon="trash" onPress={() => onChoose('deletion')}>
          {texts.deletion.action}
        </Button>
      )}
    </>
  )
}

/** Starts a job that exports the endpoints with their metadata. The page of the job offers the file for download. */
function ExportButton(props: BulkProps) {
  const create = useChange('jobs.endpointExports.create', { also: ['jobs'] })
  const [, navigate] = useLocation()
  const toast = useToast()
  async function run() {
    const outcome = await create.run({ body: { select: selectionOf(props), format: 'csv' } })
    if (outcome.kind === 'failed') toast(outcome.problem.message, 'bad')
    if (outcome.kind !== 'done') return
    props.onStarted()
    navigate(`/jobs/${encodeURIComponent(outcome.body.jobId)}`)
  }
  return (
    <Button size="small" icon="download" onPress={() => void run()} isBusy={create.isRunning}>
      {texts.export}
    </Button>
  )
}

/** Returns the operation of this kind of job. All operations take the same selection and return the same type of job. */
function useCreateJob(kind: BulkKind) {
  const changes = {
    command: useChange('jobs.commands.create'),
    metadata: useChange('jobs.metadataPatches.create'),
    version: useChange('jobs.versionChanges.create'),
    configuration: useChange('jobs.configurations.create'),
    deletion: useChange('jobs.deletions.create'),
  }
  return changes[kind] as unknown as (typeof changes)['deletion']
}

/** Returns the selection for a job: the ids, or the conditions of the list. */
const selectionOf = ({ selection, conditions }: BulkProps): Select =>
  selection.kind === 'some' ? { endpointIds: [...selection.ids] } : selectOf(conditions)

const confirmedFrom = 100
const numberOf = ({ counts, refused }: Job) => (counts.total ?? 0) - refused
const needsWord = (kind: BulkKind, job: Job) => kind === 'deletion' && numberOf(job) >= confirmedFrom

/** The dialog that starts a job. The page renders the dialog outside the table, so that it stays open when the table becomes empty. */
export function BulkDialog(props: BulkProps & { kind: BulkKind; onClose(): void }) {
  const { kind, onClose, onStarted } = props
  const [parameters, setParameters] = useState<BulkParameters>({})
  const [wrong, setWrong] = useState<Record<string, string>>({})
  const [job, setJob] = useState<Job>()
  const [typed, setTyped] = useState('')
  const create = useCreateJob(kind)
  const start = useChange('jobs.execute', { also: ['endpoints'] })
  const cancel = useChange('jobs.cancel')
  const [, navigate] = useLocation()
  const toast = useToast()
  // The preview replaces the form with the input, so the dialog itself reports that there is unsaved input.
  useUnsaved(Object.values(parameters).some((value) => value !== ''))

  async function preview() {
    const { body, problems } = bodyOf(kind, parameters)
    setWrong(problems)
    if (Object.keys(problems).length > 0) return
    const outcome = await create.run({ body: { ...body, select: selectionOf(props), preview: true } })
    if (outcome.kind === 'done') setJob(outcome.body)
  }
  // A deletion has no parameters, so the dialog begins with the preview.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the dialog opens
  useEffect(() => {
    if (kind === 'deletion') void preview()
  }, [])

  /** Cancels the job of the preview. Previews count as open jobs, of which a tenant has a limited number. */
  function discardPreview() {
    if (job) void cancel.run({ jobId: job.jobId })
    setJob(undefined)
  }
  function close() {
    discardPreview()
    onClose()
  }
  async function run() {
    const outcome = await start.run({ jobId: job!.jobId })
    if (outcome.kind !== 'done') return
    toast(texts.started)
    onClose()
    onStarted()
    navigate(`/jobs/${encodeURIComponent(job!.jobId)}`)
  }
  return (
    <Dialog
      title={texts[kind].title}
      isOpen
      onClose={close}
      size={kind === 'deletion' ? 'small' : 'wide'}
      isAlert={kind === 'deletion'}
      actions={
        job ? (
          <StartActions
            kind={kind}
            job={job}
            typed={typed}
            isBusy={start.isRunning}
            onClose={close}
            onStart={() => void run()}
          >
            {kind !== 'deletion' && <Button onPress={discardPreview}>{texts.back}</Button>}
          </StartActions>
        ) : (
          <>
            <AsCommand
              operation={operations[kind]}
              args={{ body: { ...bodyOf(kind, parameters).body, select: selectionOf(props) } }}
            />
            <CancelButton onPress={close} />
            <Button look="primary" onPress={() => void preview()} isBusy={create.isRunning}>
              {texts.preview}
            </Button>
          </>
        )
      }
    >
      {job ? (
        <>
          <Preview kind={kind} job={job} />
          {needsWord(kind, job) && (
            <TextField label={texts.typeWord(texts.word)} value={typed} onChange={setTyped} isRequired autoFocus />
          )}
        </>
      ) : (
        <BulkForm
          kind={kind}
          application={props.application}
          parameters={parameters}
          wrong={wrong}
          onChange={(changed) => setParameters({ ...parameters, ...changed })}
        />
      )}
      {(create.problem ?? start.problem) && <ErrorNote problem={(create.problem ?? start.problem)!} />}
    </Dialog>
  )
}

function StartActions({
  kind,
  job,
  typed,
  isBusy,
  onClose,
  onStart,
  children,
}: {
  kind: BulkKind
  job: Job
  /** The word that the user has typed to confirm a deletion of many endpoints. */
  typed: string
  isBusy: boolean
  onClose(): void
  onStart(): void
  children: React.ReactNode
}) {
  const number = numberOf(job)
  return (
    <>
      <CancelButton onPress={onClose} />
      {children}
      <Button
        look={kind === 'deletion' ? 'danger' : 'primary'}
        onPress={onStart}
        isBusy={isBusy}
        isDisabled={number === 0 || (needsWord(kind, job) && typed !== texts.word)}
      >
        {kind === 'deletion' ? texts.startDeletion(number) : texts.start(number)}
      </Button>
    </>
  )
}

function Preview({ kind, job }: { kind: BulkKind; job: Job }) {
  const { samples, refused, refusedSamples } = job
  const number = numberOf(job)
  return (
    <>
      <p>{texts.selected[kind](number)}</p>
      {kind !== 'deletion' && <JsonView label={texts.parameters} value={job.parameters} />}
      {samples.length > 0 && (
        <>
          <h3>{texts.samples}</h3>
          <ul className="counts">
            {samples.map((endpointId) => (
              <li key={endpointId}>
                <Text value={endpointId} max={80} mono />
              </li>
            ))}
            {number > samples.length && <li className="quiet">{texts.more(number - samples.length)}</li>}
          </ul>
        </>
      )}
      {refused > 0 && (
        <Note tone="warn">
          <p>{texts.refused(refused)}</p>
          <ul className="counts">
            {refusedSamples.map(({ endpointId, reason }) => (
              <li key={endpointId}>
                <Text value={endpointId} max={80} mono /> <Text value={reason} />
              </li>
            ))}
          </ul>
        </Note>
      )}
    </>
  )
}
