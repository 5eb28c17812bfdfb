/**
 * Starts the rollout of a version, to filters or to all endpoints that can upgrade. Shows how many endpoints would be offered the version.
 */
import { useState } from 'react'
import { useChange, useGet } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { useForm } from '../../parts/form.ts'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { Segments } from '../../parts/segments.tsx'
import { useToast } from '../../parts/toast.tsx'
import { formTexts } from './form-texts.ts'
import { FilterRows } from './rollout-fields.tsx'
import { texts } from './texts.ts'
import { bodyOf, type Software, valuesOf } from './values.ts'

export function StartRollout({ software, etag }: { software: Software; etag: string | undefined }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button icon="play" look="primary" onPress={() => setOpen(true)}>
        {formTexts.start}
      </Button>
      {isOpen && <StartDialog software={software} etag={etag} onClose={() => setOpen(false)} />}
    </>
  )
}

interface Props {
  software: Software
  etag: string | undefined
  onClose(): void
}

function StartDialog({ software, etag, onClose }: Props) {
  const { appName, version } = software
  const [strategy, setStrategy] = useState<'general' | 'targeted'>(software.filters.length > 0 ? 'targeted' : 'general')
  const [isConflict, setConflict] = useState(false)
  const [isIncomplete, setIncomplete] = useState(false)
  const update = useChange('software.update')
  const resume = useChange('software.rollout.resume')
  const form = useForm({ filters: software.filters }, update.problem)
  const toast = useToast()
  const { filters } = form.values
  async function start() {
    const isMissing = strategy === 'targeted' && filters.length === 0
    setIncomplete(isMissing)
    if (isMissing) return
    const body = bodyOf({ ...valuesOf(software), rolloutStrategy: strategy, filters })
    const outcome = await update.run({ appName, softwareVersion: version, body }, { ifMatch: etag })
    setConflict(outcome.kind === 'conflict')
    if (outcome.kind !== 'done') return
    if (software.rolloutState !== 'active') {
      const resumed = await resume.run({ appName, softwareVersion: version })
      if (resumed.kind !== 'done') return
    }
    onClose()
    toast(formTexts.started)
  }
  return (
    <Dialog
      title={formTexts.startTitle(version)}
      isOpen
      onClose={onClose}
      size="wide"
      actions={
        <>
          <Button onPress={onClose}>{formTexts.cancel}</Button>
          <Button look="primary" icon="play" isBusy={update.isRunning || resume.isRunning} onPress={() => void start()}>
            {formTexts.start}
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>{formTexts.startText}</p>
        <Segments<'general' | 'targeted'>
          label={formTexts.startTo}
          value={strategy}
          onChange={setStrategy}
          options={[
            { value: 'general', label: texts.strategies.general },
            { value: 'targeted', label: texts.strategies.targeted },
          ]}
        />
        {strategy === 'targeted' && <FilterRows appName={appName} field={form.field('filters')} />}
        {isIncomplete && strategy === 'targeted' && filters.length === 0 && (
          <Note tone="warn">{formTexts.startNoFilters}</Note>
        )}
        {strategy === 'general' && <Reach software={software} />}
        {software.fileSize === undefined && software.skipDispatchingToEndpoint && (
          <Note tone="warn">{formTexts.fileMissing}</Note>
        )}
        {isConflict && <Note tone="warn">{formTexts.startChanged}</Note>}
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        {resume.problem && <ErrorNote problem={resume.problem} />}
      </div>
    </Dialog>
  )
}

function Reach({ software: { appName, version } }: { software: Software }) {
  const preview = useGet('software.rollout.preview', {
    ...{ appName, softwareVersion: version, rolloutStrategy: 'general' },
  })
  if (!preview.data) return null
  const { endpointsCount } = preview.data
  return <Note>{endpointsCount === 0 ? texts.previewNone : formTexts.startPreview(endpointsCount)}</Note>
}
