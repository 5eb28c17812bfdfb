/** Form that creates or changes an alert setting. */

import { useApplications } from '../../api/applications.ts'
import type { ArgumentsOf, BodyOf } from '../../api/operation-types.ts'
import { type GetResult, useChange, useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Loading } from '../../parts/card.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { SelectField, SwitchField, TextField } from '../../parts/fields.tsx'
import { type Form, useForm } from '../../parts/form.ts'
import { JsonField } from '../../parts/json-field.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Segments } from '../../parts/segments.tsx'
import { type SeverityLevel, severityLevels, severityTexts } from '../../parts/severity.tsx'
import type { PageProps } from '../page-props.ts'
import { settingTexts as texts } from './setting-texts.ts'

type Setting = BodyOf<'alertSettings.get'>
type Target = keyof typeof texts.targets

const targets = Object.keys(texts.targets) as Target[]
const above = [{ title: texts.title, to: '/alerts?tab=settings' }]
const addressOf = (id: string) => `/alerts/settings/${encodeURIComponent(id)}`

/** Returns the values of the form. The fields hold texts, so ids are joined with spaces, and e-mail addresses with line breaks. */
const valuesOf = (setting?: Setting) => ({
  name: setting?.name ?? '',
  alertType: setting?.alertType ?? '',
  severityLevel: (setting?.severityLevel ?? 'HIGH') as string,
  target: (targets.find((target) => setting?.[target] !== undefined) ?? 'appName') as Target,
  appName: setting?.appName ?? '',
  appVersionName: setting?.appVersionName ?? '',
  endpointIds: (setting?.endpointIds ?? []).join(' '),
  activationExpression: setting?.activationExpression ?? texts.activationStart,
  resolutionExpression: setting?.resolutionExpression ?? '',
  message: setting?.message ?? '',
  emailRecipients: (setting?.emailRecipients ?? []).join('\n'),
  webhookUrl: setting?.webhookUrl ?? '',
  description: setting?.description ?? '',
  state: setting?.state !== 'DISABLED',
})
type Values = ReturnType<typeof valuesOf>

const wordsOf = (typed: string, by: RegExp) =>
  typed
    .split(by)
    .map((word) => word.trim())
    .filter(Boolean)

function bodyOf(values: Values, setting: Setting | undefined): ArgumentsOf<'alertSettings.create'>['body'] {
  const { target, appName, appVersionName, endpointIds, resolutionExpression, message, webhookUrl, description } =
    values
  const emailRecipients = wordsOf(values.emailRecipients, /\n/)
  return {
    ...{ name: values.name, alertType: values.alertType, severityLevel: values.severityLevel as SeverityLevel },
    ...(target === 'appName' && { appName }),
    ...(target === 'appVersionName' && { appVersionName }),
    ...(target === 'endpointIds' && { endpointIds: wordsOf(endpointIds, /[\s,]+/) }),
    activationExpression: values.activationExpression,
    ...(resolutionExpression.trim() !== '' && { resolutionExpression }),
    ...(message !== '' && { message }),
    ...(emailRecipients.length > 0 && { emailRecipients }),
    ...(webhookUrl !== '' && { webhookUrl }),
    ...(description !== '' && { description }),
    state: values.state ? 'ENABLED' : 'DISABLED',
    ...(setting?.uiMetadata !== undefined && { uiMetadata: setting.uiMetadata }),
  }
}

export default function AlertSettingEditPage({ params: { alertSettingId } }: PageProps) {
  const isNew = alertSettingId === undefined
  const setting = useGet('alertSettings.get', { alertSettingId: alertSettingId ?? '' }, { enabled: !isNew })
  if (setting.isLoading) return <Loading label={texts.loading} />
  if (isNew)
    return (
      <>
        <PageHeader title={texts.create} above={above} lead={texts.lead} />
        <SettingForm first={undefined} read={setting} />
      </>
    )
  const name = setting.data?.name ?? alertSettingId
  return (
    <>
      <PageHeader title={texts.editTitle(name)} above={[...above, { title: name, to: addressOf(alertSettingId) }]} />
      {setting.data ? (
        <SettingForm first={setting.data} read={setting} />
      ) : (
        setting.problem && <ErrorNote problem={setting.problem} onRetry={() => void setting.reload()} />
      )}
    </>
  )
}

function SettingForm({ first, read }: { first: Setting | undefined; read: GetResult<Setting> }) {
  const create = useChange('alertSettings.create')
  const update = useChange('alertSettings.update')
  const form = useForm(valuesOf(first), create.problem ?? update.problem)
  const body = bodyOf(form.values, read.data ?? first)
  return (
    <EditForm
      form={form}
      read={read}
      save={(ifMatch) => (first ? update.run({ alertSettingId: first.id, body }, { ifMatch }) : create.run({ body }))}
      valuesOf={valuesOf}
      together={[['target', 'appName', 'appVersionName', 'endpointIds']]}
      saved={first ? texts.saved : texts.created}
      next={({ location }) => addressOf(first?.id ?? location?.split('/').at(-1) ?? '')}
      isBusy={create.isRunning || update.isRunning}
      submit={first ? texts.save : texts.submit}
      cancel={first ? addressOf(first.id) : '/alerts?tab=settings'}
      command={
        first ? (
          <AsCommand operation="alertSettings.update" args={{ alertSettingId: first.id, body }} />
        ) : (
          <AsCommand operation="alertSettings.create" args={{ body }} />
        )
      }
    >
      <AlertFields form={form} />
      <TargetFields form={form} />
      <ScriptFields form={form} />
      <NoticeFields form={form} />
    </EditForm>
  )
}

const AlertFields = ({ form }: { form: Form<Values> }) => (
  <>
    <TextField label={texts.name} {...form.field('name')} isRequired autoFocus />
    <TextField label={texts.alertType} {...form.field('alertType')} description={texts.alertTypeNote} isRequired mono />
    <SelectField
      label={texts.severityLevel}
      {...form.field('severityLevel')}
      options={severityLevels.map((value) => ({ value, label: severityTexts[value] }))}
      isRequired
    />
  </>
)

/** Returns the options of a field: the given names, and the current value, because it may name an object that the caller may not read. */
const withPresent = (names: string[], present: string) =>
  [...new Set([...(present === '' ? [] : [present]), ...names])].map((value) => ({ value, label: value }))

function TargetFields({ form }: { form: Form<Values> }) {
  const applications = useApplications()
  const { target, appName, appVersionName } = form.values
  const versions = applications.items.flatMap((application) => application.versions.map(({ name }) => name))
  return (
    <>
      <div className="field">
        <span className="field-label">{texts.target}</span>
        <Segments
          label={texts.target}
          options={targets.map((value) => ({ value, label: texts.targets[value] }))}
          value={target}
          onChange={(target) => form.set({ target })}
        />
      </div>
      {target === 'appName' && (
        <SelectField
          label={texts.appName}
          {...form.field('appName')}
          options={withPresent(
            applications.items.map(({ name }) => name),
            appName,
          )}
          isRequired
        />
      )}
      {target === 'appVersionName' && (
        <SelectField
          label={texts.appVersionName}
          {...form.field('appVersionName')}
          options={withPresent(versions, appVersionName)}
          isRequired
        />
      )}
      {target === 'endpointIds' && (
        <TextField
          label={texts.endpointIds}
          {...form.field('endpointIds')}
          description={texts.endpointIdsNote}
          isRequired
          mono
        />
      )}
    </>
  )
}

const ScriptFields = ({ form }: { form: Form<Values> }) => (
  <>
    <JsonField
      label={texts.activationExpression}
      {...form.field('activationExpression')}
      description={texts.activationNote}
      language="javascript"
    />
    <JsonField
      label={texts.resolutionExpression}
      {...form.field('resolutionExpression')}
      description={texts.resolutionNote}
      language="javascript"
    />
  </>
)

const NoticeFields = ({ form }: { form: Form<Values> }) => (
  <>
    <TextField label={texts.message} {...form.field('message')} description={texts.messageNote} />
    <TextField
      label={texts.emailRecipients}
      {...form.field('emailRecipients')}
      description={texts.emailNote}
      lines={2}
    />
    <TextField label={texts.webhookUrl} {...form.field('webhookUrl')} type="url" mono />
    <TextField label={texts.description} {...form.field('description')} lines={2} />
    <SwitchField label={texts.state} {...form.field('state')} description={texts.stateNote} />
  </>
)
