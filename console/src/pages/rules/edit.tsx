/** Page that creates or changes a rule. If another caller changed the rule meanwhile, the page shows both changes before it saves. */
import { useState } from 'react'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { type GetResult, useChange, useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Loading } from '../../parts/card.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { SwitchField, TextField } from '../../parts/fields.tsx'
import { type Form, useForm } from '../../parts/form.ts'
import { JsonField } from '../../parts/json-field.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import type { PageProps } from '../page-props.ts'
import { Actions, Triggers } from './links.tsx'
import { texts } from './texts.ts'
import { Try } from './try.tsx'

type Rule = BodyOf<'rules.get'>

interface Values {
  name: string
  description: string
  expression: string
  /** True if the rule is enabled. */
  state: boolean
}

const above = [{ title: texts.title, to: '/rules' }]
const addressOf = (id: string) => `/rules/${encodeURIComponent(id)}`

const bodyOf = ({ name, description, expression, state }: Values, uiMetadata?: string) => ({
  ...{ name, expression, state: state ? ('ENABLED' as const) : ('DISABLED' as const) },
  ...(description !== '' && { description }),
  ...(uiMetadata !== undefined && { uiMetadata }),
})

const valuesOf = ({ name, description = '', expression, state }: Rule): Values => ({
  ...{ name, description, expression, state: state === 'ENABLED' },
})

export default function RuleEditPage({ params: { ruleId } }: PageProps) {
  return ruleId === undefined ? <NewRule /> : <ExistingRule ruleId={ruleId} />
}

const Fields = ({ form, onScript }: { form: Form<Values>; onScript?(text: string): void }) => (
  <>
    <TextField label={texts.name} {...form.field('name')} isRequired autoFocus />
    <TextField label={texts.description} {...form.field('description')} lines={2} />
    <JsonField
      label={texts.expression}
      {...form.field('expression')}
      onChange={(text) => {
        form.set({ expression: text })
        onScript?.(text)
      }}
      description={texts.expressionNote}
      language="javascript"
    />
    <SwitchField label={texts.state} {...form.field('state')} description={texts.stateNote} />
  </>
)

function NewRule() {
  const create = useChange('rules.create')
  const first = { name: '', description: '', expression: texts.expressionStart, state: true }
  const form = useForm<Values>(first, create.problem)
  const body = bodyOf(form.values)
  return (
    <>
      <PageHeader title={texts.newTitle} above={above} />
      <EditForm
        form={form}
        save={() => create.run({ body })}
        saved={texts.created}
        next={({ location }) => (location === undefined ? '/rules' : addressOf(location.split('/').at(-1)!))}
        isBusy={create.isRunning}
        submit={texts.submit}
        cancel="/rules"
        command={<AsCommand operation="rules.create" args={{ body }} />}
      >
        <Fields form={form} />
      </EditForm>
    </>
  )
}

function ExistingRule({ ruleId }: { ruleId: string }) {
  const rule = useGet('rules.get', { ruleId })
  if (rule.isLoading) return <Loading label={texts.loading} />
  const name = rule.data?.name ?? ruleId
  return (
    <>
      <PageHeader title={texts.editTitle(name)} above={[...above, { title: name, to: addressOf(ruleId) }]} />
      {rule.data ? (
        <EditRule first={rule.data} read={rule} />
      ) : (
        rule.problem && <ErrorNote problem={rule.problem} onRetry={() => void rule.reload()} />
      )}
    </>
  )
}

interface ChangeFormProps {
  first: Rule
  read: GetResult<Rule>
}

/** Shows the script beside its triggers and actions, and lets the user test the script before it is saved. */
function EditRule(props: ChangeFormProps) {
  const { first } = props
  const [script, setScript] = useState(first.expression)
  const may = useMay()
  const resource = `rule-${first.id}`
  return (
    <>
      <div className="columns">
        <ChangeForm {...props} onScript={setScript} />
        <div className="stack">
          <Triggers ruleId={first.id} mayChange={may('rule:update', resource)} />
          <Actions ruleId={first.id} mayChange={may('rule:update', resource)} />
        </div>
      </div>
      {may('rule:execute', resource) && <Try rule={first} traceId="" script={script} />}
    </>
  )
}

function ChangeForm({ first, read, onScript }: ChangeFormProps & { onScript(text: string): void }) {
  const change = useChange('rules.update')
  const { id: ruleId } = first
  const form = useForm(valuesOf(first), change.problem)
  const body = bodyOf(form.values, (read.data ?? first).uiMetadata)
  return (
    <EditForm
      form={form}
      read={read}
      valuesOf={valuesOf}
      save={(ifMatch) => change.run({ ruleId, body }, { ifMatch })}
      onTaken={({ expression = '' }) => onScript(expression)}
      saved={texts.saved}
      next={addressOf(ruleId)}
      isBusy={change.isRunning}
      submit={texts.save}
      cancel={addressOf(ruleId)}
      command={<AsCommand operation="rules.update" args={{ ruleId, body }} />}
    >
      <Fields form={form} onScript={onScript} />
    </EditForm>
  )
}
