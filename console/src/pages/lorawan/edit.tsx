/**
 * Form that creates or changes an integration. If another caller changed the integration meanwhile, the form shows both changes before it
 * saves.
 */
import type { FormEvent } from 'react'
import { useLocation } from 'wouter'
import { useApplications } from '../../api/applications.ts'
import { type GetResult, useChange, useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { texts } from './texts.ts'

type Kind = 'applications' | 'accounts'

const listOf = (kind: Kind) => (kind === 'applications' ? '/lorawan' : '/lorawan?tab=accounts')

export default function IntegrationEditPage({ params: { kind: given, id } }: PageProps) {
  const kind: Kind = given === 'accounts' ? 'accounts' : 'applications'
  return id === undefined ? <NewIntegration kind={kind} /> : <ExistingIntegration kind={kind} id={Number(id)} />
}

const first = {
  name: '',
  appName: '',
  netUsername: '',
  netIdentityServerHost: '',
  netPlainMqttServerUrl: '',
  netApiKeyId: '',
  description: '',
}

function NewIntegration({ kind }: { kind: Kind }) {
  const isApplication = kind === 'applications'
  const createApp = useChange('appIntegrations.create')
  const createAccount = useChange('accountIntegrations.create')
  const create = isApplication ? createApp : createAccount
  const form = useForm(first, create.problem)
  const applications = useApplications()
  const [, navigate] = useLocation()
  const toast = useToast()
  const { name, appName, netUsername, netIdentityServerHost, netPlainMqttServerUrl, netApiKeyId, description } =
    form.values
  const common = { name, netUsername, netIdentityServerHost, ...(description !== '' && { description }) }
  const forApp = {
    ...{ ...common, appName },
    ...(netPlainMqttServerUrl !== '' && { netPlainMqttServerUrl }),
  }
  // The platform does not use the MQTT server of an account.
  const forAccount = { ...common, netMqttIntegrationEnabled: false }
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = isApplication
      ? await createApp.run({ body: { ...forApp, netApiKeyId } })
      : await createAccount.run({ body: { ...forAccount, netApiKeyId } })
    if (outcome.kind !== 'done') return
    toast(texts.created)
    navigate(`/lorawan/${kind}/${outcome.body.id}`)
  }
  return (
    <>
      <PageHeader title={texts.create[kind]} above={[{ title: texts.title, to: listOf(kind) }]} />
      <Card>
        <form className="form" onSubmit={(event) => void submit(event)}>
          <TextField label={texts.name} {...form.field('name')} isRequired autoFocus />
          {isApplication && (
            <SelectField
              label={texts.appName}
              {...form.field('appName')}
              options={applications.items.map(({ name }) => ({ value: name, label: name }))}
              isRequired
            />
          )}
          <TextField
            label={texts.identityServer}
            {...form.field('netIdentityServerHost')}
            description={texts.identityNote}
            isRequired
            mono
          />
          <TextField
            label={texts.netUsername}
            {...form.field('netUsername')}
            description={texts.netUsernameNote[kind]}
            isRequired
            mono
          />
          <TextField
            label={texts.apiKey}
            {...form.field('netApiKeyId')}
            description={texts.apiKeyNote}
            type="password"
            isRequired
          />
          {isApplication && (
            <TextField
              label={texts.mqttUrl}
              {...form.field('netPlainMqttServerUrl')}
              description={texts.mqttNote}
              isRequired
              mono
            />
          )}
          <TextField label={texts.description} {...form.field('description')} lines={2} />
          {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
          <div className="form-actions">
            <AsCommand
              operation={isApplication ? 'appIntegrations.create' : 'accountIntegrations.create'}
              args={{ body: { ...(isApplication ? forApp : forAccount), netApiKeyId: '…' } }}
            />
            <LinkButton to={listOf(kind)}>{texts.cancel}</LinkButton>
            <Button look="primary" type="submit" isBusy={create.isRunning}>
              {texts.submit}
            </Button>
          </div>
        </form>
      </Card>
    </>
  )
}

interface Existing {
  name: string
  description?: string
}

function ExistingIntegration({ kind, id }: { kind: Kind; id: number }) {
  const isApplication = kind === 'applications'
  const app = useGet('appIntegrations.get', { appIntegrationId: id }, { enabled: isApplication })
  const account = useGet('accountIntegrations.get', { accountIntegrationId: id }, { enabled: !isApplication })
  const read = isApplication ? app : account
  const { data } = read
  if (read.isLoading) return <Loading label={texts.loading} />
  return (
    <>
      <PageHeader title={data?.name ?? texts.edit} above={[{ title: texts.title, to: listOf(kind) }]} />
      {data ? (
        <ChangeForm kind={kind} id={id} first={data} read={read} />
      ) : (
        read.problem && <ErrorNote problem={read.problem} onRetry={() => void read.reload()} />
      )}
    </>
  )
}

interface ChangeFormProps {
  kind: Kind
  id: number
  first: Existing
  read: GetResult<Existing>
}

const valuesOf = ({ name, description = '' }: Existing) => ({ name, description })

function ChangeForm({ kind, id, first, read }: ChangeFormProps) {
  const isApplication = kind === 'applications'
  const app = useChange('appIntegrations.patch')
  const account = useChange('accountIntegrations.patch')
  const change = isApplication ? app : account
  const form = useForm({ ...valuesOf(first), netApiKeyId: '' }, change.problem)
  const { netApiKeyId, ...rest } = form.values
  const page = `/lorawan/${kind}/${id}`
  async function save(ifMatch: string | undefined) {
    const body = { ...rest, ...(netApiKeyId !== '' && { netApiKeyId }) }
    const outcome = isApplication
      ? await app.run({ appIntegrationId: id, body }, { ifMatch })
      : await account.run({ accountIntegrationId: id, body }, { ifMatch })
    return outcome
  }
  return (
    <EditForm
      form={form}
      read={read}
      save={save}
      valuesOf={valuesOf}
      saved={texts.saved}
      next={page}
      isBusy={change.isRunning}
      submit={texts.save}
      cancel={page}
    >
      <TextField label={texts.name} {...form.field('name')} isRequired autoFocus />
      <TextField label={texts.description} {...form.field('description')} lines={2} />
      <TextField
        label={texts.apiKey}
        {...form.field('netApiKeyId')}
        description={texts.newApiKeyNote}
        type="password"
      />
    </EditForm>
  )
}
