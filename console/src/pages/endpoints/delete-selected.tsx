/** Deletes the selected endpoints by a job: first it is prepared and counted, then confirmed, then followed. */
import { useState } from 'react'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useGet } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { Progress } from '../../parts/progress.tsx'
import type { Selection } from '../../parts/selection.ts'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type Job = BodyOf<'jobs.get'>

const refreshMs = 1_000
/** Deletions of more endpoints ask for a word. */
const manyMin = 100

export interface DeleteSelectedProps {
  selection: Selection
  /** Application of the list; empty: all. */
  application: string
  onDone(): void
}

const selectOf = (selection: Selection, application: string) => {
  if (selection.kind === 'some') return { endpointIds: [...selection.ids] }
  return application === '' ? { all: true as const } : { applicationName: application }
}

export function DeleteSelected({ selection, application, onDone }: DeleteSelectedProps) {
  const [jobId, setJobId] = useState<string>()
  const [isStarted, setStarted] = useState(false)
  const prepare = useChange('jobs.deletions.create')
  const start = useChange('jobs.execute')
  const toast = useToast()
  const isOpen = jobId !== undefined
  const job = useGet('jobs.get', { jobId: jobId ?? '' }, { enabled: isOpen, refreshMs })
  async function ask() {
    const outcome = await prepare.run({ body: { select: selectOf(selection, application), preview: true } })
    if (outcome.kind === 'done') setJobId(outcome.body.jobId)
    if (outcome.kind === 'failed') toast(outcome.problem.message, 'bad')
  }
  async function confirm() {
    const outcome = await start.run({ jobId: jobId! })
    if (outcome.kind === 'done') setStarted(true)
  }
  function close() {
    setJobId(undefined)
    setStarted(false)
    if (isStarted) onDone()
  }
  const total = job.data?.counts.total
  return (
    <>
      <Button size="small" look="danger" icon="trash" onPress={() => void ask()} isBusy={prepare.isRunning}>
        {texts.delete}
      </Button>
      <ConfirmDelete
        what={texts.what(total)}
        also={[{ name: texts.deleteNote, count: total ?? 0 }]}
        {...(total !== undefined && total >= manyMin && { word: String(total) })}
        isOpen={isOpen && !isStarted}
        isBusy={start.isRunning || total === undefined}
        problem={start.problem ?? job.problem}
        onConfirm={() => void confirm()}
        onClose={close}
      />
      {job.data && <JobDialog job={job.data} isOpen={isOpen && isStarted} onClose={close} />}
    </>
  )
}

const isEnded = ({ state }: Job) => state === 'finished' || state === 'canceled'

function JobDialog({ job, isOpen, onClose }: { job: Job; isOpen: boolean; onClose(): void }) {
  const cancel = useChange('jobs.cancel', { also: ['endpoints'] })
  const { counts, jobId } = job
  return (
    <Dialog
      title={isEnded(job) ? texts.deletionEnded : texts.deletionRuns}
      isOpen={isOpen}
      onClose={onClose}
      actions={
        <>
          {job.cancelable && (
            <Button onPress={() => void cancel.run({ jobId })} isBusy={cancel.isRunning}>
              {texts.stop}
            </Button>
          )}
          <Button look="primary" onPress={onClose}>
            {isEnded(job) ? texts.close : texts.continueInBackground}
          </Button>
        </>
      }
    >
      <Progress label={texts.delete} value={counts.succeeded + counts.failed} max={counts.total ?? 0} />
      <p>{texts.progress(counts.succeeded, counts.failed, counts.pending ?? 0)}</p>
      {cancel.problem && <ErrorNote problem={cancel.problem} />}
    </Dialog>
  )
}
