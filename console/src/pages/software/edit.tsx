/**
 * Creates a software version, or changes its rollout. If another caller changed the version meanwhile, the form shows both changes before
 * it saves.
 */
import { useState } from 'react'
import { type GetResult, useChange, useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Loading } from '../../parts/card.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { JsonField } from '../../parts/json-field.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import type { PageProps } from '../page-props.ts'
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
      {software.data && <ChangeForm first={software.data} read={software} others={others} />}
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
  const { softwareVersion, filename } = form.values
  const specification = optionalJson(form.values.specification)
  const body = {
    ...bodyOf(form.values),
    ...(filename !== '' && { filename }),
    ...(specification.value !== undefined && { specification: specification.value }),
  }
  async function save() {
    const problems = { specification: specification.problem, metadata: optionalJson(form.values.metadata).problem }
    setWrong(problems)
    if (problems.specification !== undefined || problems.metadata !== undefined) return { kind: 'failed' } as const
    return await create.run({ appName, softwareVersion, body })
  }
  return (
    <EditForm
      form={form}
      save={save}
      saved={formTexts.created}
      next={addressOf(appName, softwareVersion)}
      isBusy={create.isRunning}
      submit={formTexts.submit}
      cancel={`/software?application=${encodeURIComponent(appName)}`}
      command={<AsCommand operation="software.create" args={{ appName, softwareVersion, body }} />}
    >
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
    </EditForm>
  )
}

interface ChangeFormProps {
  first: Software
  read: GetResult<Software>
  others: string[]
}

function ChangeForm({ first, read, others }: ChangeFormProps) {
  const { appName, version } = first
  const change = useChange('software.update')
  const form = useForm<RolloutValues>(valuesOf(first), change.problem)
  const [wrong, setWrong] = useState<string>()
  const args = { appName, softwareVersion: version, body: bodyOf(form.values) }
  async function save(ifMatch: string | undefined) {
    const { problem } = optionalJson(form.values.metadata)
    setWrong(problem)
    return problem === undefined ? await change.run(args, { ifMatch }) : ({ kind: 'failed' } as const)
  }
  return (
    <EditForm
      form={form}
      read={read}
      valuesOf={valuesOf}
      together={[['failureThreshold', 'percent', 'minimumAttempts']]}
      save={save}
      saved={formTexts.saved}
      next={addressOf(appName, version)}
      isBusy={change.isRunning}
      submit={formTexts.save}
      cancel={addressOf(appName, version)}
      command={<AsCommand operation="software.update" args={args} />}
    >
      <RolloutFields appName={appName} form={form} others={others} />
      <JsonField
        label={formTexts.metadata}
        {...form.field('metadata')}
        description={formTexts.metadataNote}
        problem={wrong}
      />
    </EditForm>
  )
}
