/** Creates an application, or changes one. If another caller changed it meanwhile, both sides are shown. */
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { ConflictDialog } from '../../parts/conflict-dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../registry.ts'
import { texts } from './texts.ts'

type Application = BodyOf<'applications.get'>

export default function ApplicationEditPage({ params: { appName } }: PageProps) {
  return appName === undefined ? <NewApplication /> : <ExistingApplication appName={appName} />
}

const above = [{ title: texts.title, to: '/applications' }]
const addressOf = (name: string) => `/applications/${encodeURIComponent(name)}`

function NewApplication() {
  const create = useChange('applications.create')
  const form = useForm({ name: '', displayName: '', description: '' }, create.problem)
  const [, navigate] = useLocation()
  const toast = useToast()
  const { name, displayName, description } = form.values
  const body = { name, ...(displayName !== '' && { displayName }), ...(description !== '' && { description }) }
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = await create.run({ body })
    if (outcome.kind !== 'done') return
    toast(texts.created)
    navigate(addressOf(name))
  }
  return (
    <>
      <PageHeader title={texts.newTitle} above={above} />
      <Card>
        <form className="form" onSubmit={(event) => void submit(event)}>
          <TextField
            label={texts.name}
            {...form.field('name')}
            description={texts.nameNote}
            isRequired
            mono
            autoFocus
          />
          <TextField label={texts.displayName} {...form.field('displayName')} />
          <TextField label={texts.description} {...form.field('description')} lines={3} />
          {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
          <div className="form-actions">
            <AsCommand operation="applications.create" args={{ body }} />
            <LinkButton to="/applications">{texts.cancel}</LinkButton>
            <Button look="primary" type="submit" isBusy={create.isRunning}>
              {texts.submit}
            </Button>
          </div>
        </form>
      </Card>
    </>
  )
}

function ExistingApplication({ appName }: { appName: string }) {
  const application = useGet('applications.get', { appName })
  const crumbs = [...above, { title: appName, to: addressOf(appName) }]
  if (application.isLoading) return <Loading label={texts.loading} />
  return (
    <>
      <PageHeader title={texts.editTitle(appName)} above={crumbs} />
      {application.data ? (
        <ChangeForm first={application.data} firstEtag={application.etag} readAgain={application.reload} />
      ) : (
        application.problem && <ErrorNote problem={application.problem} onRetry={() => void application.reload()} />
      )}
    </>
  )
}

interface ChangeFormProps {
  first: Application
  firstEtag: string | undefined
  readAgain(): Promise<{ data: Application | undefined; etag: string | undefined }>
}

function ChangeForm({ first, firstEtag, readAgain }: ChangeFormProps) {
  // The version that was read when the form opened; later readings must not hide a change of another caller.
  const [base, setBase] = useState({ application: first, etag: firstEtag })
  const [theirs, setTheirs] = useState<{ application: Application; etag: string | undefined }>()
  const change = useChange('applications.patch')
  const { name } = first
  const form = useForm({ displayName: first.displayName ?? '', description: first.description ?? '' }, change.problem)
  const [, navigate] = useLocation()
  const toast = useToast()

  async function save(etag: string | undefined) {
    const outcome = await change.run({ appName: name, body: form.values }, { ifMatch: etag })
    if (outcome.kind === 'done') {
      toast(texts.saved)
      navigate(addressOf(name))
    }
    if (outcome.kind === 'conflict') {
      const { data, etag } = await readAgain()
      if (data) setTheirs({ application: data, etag })
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void save(base.etag)
  }
  return (
    <Card>
      <form className="form" onSubmit={submit}>
        <TextField label={texts.displayName} {...form.field('displayName')} autoFocus />
        <TextField label={texts.description} {...form.field('description')} lines={3} />
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          <AsCommand operation="applications.patch" args={{ appName: name, body: form.values }} />
          <LinkButton to={addressOf(name)}>{texts.cancel}</LinkButton>
          <Button look="primary" type="submit" isBusy={change.isRunning}>
            {texts.save}
          </Button>
        </div>
      </form>
      <ConflictDialog
        isOpen={theirs !== undefined}
        fields={(['displayName', 'description'] as const).map((field) => ({
          name: field,
          theirs: theirs?.application[field] ?? '',
          yours: form.values[field],
        }))}
        onKeepYours={() => {
          const { etag } = theirs!
          setTheirs(undefined)
          void save(etag)
        }}
        onTakeTheirs={() => {
          const { application } = theirs!
          form.set({ displayName: application.displayName ?? '', description: application.description ?? '' })
          setBase(theirs!)
          setTheirs(undefined)
        }}
        onClose={() => setTheirs(undefined)}
      />
    </Card>
  )
}
