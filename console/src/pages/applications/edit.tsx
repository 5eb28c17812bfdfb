/**
 * Form that creates or changes an application. If another caller changed the application meanwhile, the form shows both changes before it
 * saves.
 */
import type { BodyOf } from '../../api/operation-types.ts'
import { type GetResult, useChange, useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Loading } from '../../parts/card.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import type { PageProps } from '../page-props.ts'
import { texts } from './texts.ts'

type Application = BodyOf<'applications.get'>

export default function ApplicationEditPage({ params: { appName } }: PageProps) {
  return appName === undefined ? <NewApplication /> : <ExistingApplication appName={appName} />
}

const above = [{ title: texts.title, to: '/applications' }]
const addressOf = (name: string) => `/applications/${encodeURIComponent(name)}`
const valuesOf = ({ displayName = '', description = '' }: Application) => ({ displayName, description })

function NewApplication() {
  const create = useChange('applications.create')
  const form = useForm({ name: '', displayName: '', description: '' }, create.problem)
  const { name, displayName, description } = form.values
  const body = { name, ...(displayName !== '' && { displayName }), ...(description !== '' && { description }) }
  return (
    <>
      <PageHeader title={texts.newTitle} above={above} />
      <EditForm
        form={form}
        save={() => create.run({ body })}
        saved={texts.created}
        next={addressOf(name)}
        isBusy={create.isRunning}
        submit={texts.submit}
        cancel="/applications"
        command={<AsCommand operation="applications.create" args={{ body }} />}
      >
        <TextField label={texts.name} {...form.field('name')} description={texts.nameNote} isRequired mono autoFocus />
        <TextField label={texts.displayName} {...form.field('displayName')} />
        <TextField label={texts.description} {...form.field('description')} lines={3} />
      </EditForm>
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
        <ChangeForm first={application.data} read={application} />
      ) : (
        application.problem && <ErrorNote problem={application.problem} onRetry={() => void application.reload()} />
      )}
    </>
  )
}

function ChangeForm({ first, read }: { first: Application; read: GetResult<Application> }) {
  const change = useChange('applications.patch')
  const { name } = first
  const form = useForm(valuesOf(first), change.problem)
  return (
    <EditForm
      form={form}
      read={read}
      save={(ifMatch) => change.run({ appName: name, body: form.values }, { ifMatch })}
      valuesOf={valuesOf}
      saved={texts.saved}
      next={addressOf(name)}
      isBusy={change.isRunning}
      submit={texts.save}
      cancel={addressOf(name)}
      command={<AsCommand operation="applications.patch" args={{ appName: name, body: form.values }} />}
    >
      <TextField label={texts.displayName} {...form.field('displayName')} autoFocus />
      <TextField label={texts.description} {...form.field('description')} lines={3} />
    </EditForm>
  )
}
