/** Creates a software version, or changes its rollout. If another caller changed it meanwhile, both sides are shown. */
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { useChange, useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { ConflictDialog } from '../../parts/conflict-dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { JsonField } from '../../parts/json-field.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../registry.ts'
import { formTexts } from './form-texts.ts'
import { RolloutFields } from './rollout-fields.tsx'
import { texts } from './texts.ts'
import { bodyOf, newValues, optionalJson, type RolloutValues, type Software, valuesOf } from './values.ts'

const addressOf = (appName: string, version: string) =>
  `/software/${encodeURIComponent(appName)}/${encodeURIComponent(version)}`

export default function SoftwareEditPage({ params }: PageProps) {
  const appName = params.appName!
  const version = params.softwareVersion
  const software = useGet(
    'software.get',
    { appName, softwareVersion: version ?? '' },
    { enabled: version !== undefined },
  )
  const list = useList('software.list', { appName })
  const above = [
    { title: texts.title, to: `/software?application=${encodeURIComponent(appName)}` },
    ...(version === undefined ? [] : [{ title: version, to: addressOf(appName, version) }]),
  ]
  const others = list.items
    .map((one) => one.version)
    .filter((one) => one !== version)
    .toReversed()
  if (software.isLoading || list.isLoading) return <Loading label={texts.loading} />
  const problem = list.problem ?? (version === undefined ? undefined : software.problem)
  return (
    <>
      <PageHeader
        title={version === undefined ? formTexts.newTitle : formTexts.editTitle(version)}
        above={above}
        lead={version === undefined ? formTexts.newLead : formTexts.editLead}
      />
      {problem && (
        <ErrorNote problem={problem} onRetry={() => void (list.problem ? list.reload() : software.reload())} />
      )}
      {!problem && version === undefined && <NewVersion appName={appName} others={others} />}
      {software.data && (
        <ChangeForm first={software.data} firstEtag={software.etag} others={others} readAgain={software.reload} />
      )}
    </>
  )
}

function NewVersion({ appName, others }: { appName: string; others: string[] }) {
  const create = useChange('software.create')
  const form = useForm(
    { ...newValues(others[0]), softwareVersion: '', filename: '', specification: '' },
    create.problem,
  )
  const [wrong, setWrong] = useState<{ specification?: string | undefined; metadata?: string | undefined }>({})
  const [, navigate] = useLocation()
  const toast = useToast()
  const { softwareVersion, filename } = form.values
  const specification = optionalJson(form.values.specification)
  const body = {
    ...bodyOf(form.values),
    ...(filename !== '' && { filename }),
    ...(specification.value !== undefined && { specification: specification.value }),
  }
  async function submit(event: FormEvent) {
    event.preventDefault()
    const problems = { specification: specification.problem, metadata: optionalJson(form.values.metadata).problem }
    setWrong(problems)
    if (problems.specification !== undefined || problems.metadata !== undefined) return
    const outcome = await create.run({ appName, softwareVersion, body })
    if (outcome.kind !== 'done') return
    toast(formTexts.created)
    navigate(addressOf(appName, softwareVersion))
  }
  return (
    <Card>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <TextField
          label={formTexts.version}
          {...form.field('softwareVersion')}
          description={formTexts.versionNote}
          isRequired
          mono
          autoFocus
        />
        <RolloutFields appName={appName} form={form} others={others} />
        <TextField label={formTexts.filename} {...form.field('filename')} description={formTexts.filenameNote} mono />
        <JsonField
          label={formTexts.specification}
          {...form.field('specification')}
          description={formTexts.specificationNote}
          problem={wrong.specification ?? form.field('specification').problem}
        />
        <JsonField
          label={formTexts.metadata}
          {...form.field('metadata')}
          description={formTexts.metadataNote}
          problem={wrong.metadata ?? form.field('metadata').problem}
        />
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          <AsCommand operation="software.create" args={{ appName, softwareVersion, body }} />
          <LinkButton to={`/software?application=${encodeURIComponent(appName)}`}>{formTexts.cancel}</LinkButton>
          <Button look="primary" type="submit" isBusy={create.isRunning}>
            {formTexts.submit}
          </Button>
        </div>
      </form>
    </Card>
  )
}

interface ChangeFormProps {
  first: Software
  firstEtag: string | undefined
  others: string[]
  readAgain(): Promise<{ data: Software | undefined; etag: string | undefined }>
}

const compared = [
  'rolloutStrategy',
  'upgradableFrom',
  'filters',
  'skipDispatchingToEndpoint',
  'failureThreshold',
  'metadata',
] as const

function ChangeForm({ first, firstEtag, others, readAgain }: ChangeFormProps) {
  const { appName, version } = first
  // The version that was read when the form opened; later readings must not hide a change of another caller.
  const [etag, setEtag] = useState(firstEtag)
  const [theirs, setTheirs] = useState<{ software: Software; etag: string | undefined }>()
  const change = useChange('software.update')
  const form = useForm<RolloutValues>(valuesOf(first), change.problem)
  const [wrong, setWrong] = useState<string>()
  const [, navigate] = useLocation()
  const toast = useToast()
  const body = bodyOf(form.values)
  async function save(ifMatch: string | undefined) {
    const { problem } = optionalJson(form.values.metadata)
    setWrong(problem)
    if (problem !== undefined) return
    const outcome = await change.run({ appName, softwareVersion: version, body }, { ifMatch })
    if (outcome.kind === 'done') {
      toast(formTexts.saved)
      navigate(addressOf(appName, version))
    }
    if (outcome.kind === 'conflict') {
      const now = await readAgain()
      if (now.data) setTheirs({ software: now.data, etag: now.etag })
    }
  }
  return (
    <Card>
      <form
        className="form"
        onSubmit={(event: FormEvent) => {
          event.preventDefault()
          void save(etag)
        }}
      >
        <RolloutFields appName={appName} form={form} others={others} />
        <JsonField
          label={formTexts.metadata}
          {...form.field('metadata')}
          description={formTexts.metadataNote}
          problem={wrong}
        />
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          <AsCommand operation="software.update" args={{ appName, softwareVersion: version, body }} />
          <LinkButton to={addressOf(appName, version)}>{formTexts.cancel}</LinkButton>
          <Button look="primary" type="submit" isBusy={change.isRunning}>
            {formTexts.save}
          </Button>
        </div>
      </form>
      <ConflictDialog
        isOpen={theirs !== undefined}
        fields={compared.map((name) => ({ name, theirs: theirs?.software[name], yours: body[name] }))}
        onClose={() => setTheirs(undefined)}
        onTakeTheirs={() => {
          form.set(valuesOf(theirs!.software))
          setEtag(theirs!.etag)
          setTheirs(undefined)
        }}
        onKeepYours={() => {
          const { etag: now } = theirs!
          setTheirs(undefined)
          setEtag(now)
          void save(now)
        }}
      />
    </Card>
  )
}
