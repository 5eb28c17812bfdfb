/** Creates a rule, or changes one. If another caller changed it meanwhile, both sides are shown. */
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { ConflictDialog } from '../../parts/conflict-dialog.tsx'
import { SwitchField, TextField } from '../../parts/fields.tsx'
import { type Form, useForm } from '../../parts/form.ts'
import { JsonField } from '../../parts/json-field.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../registry.ts'
import { Actions, Triggers } from './links.tsx'
import { texts } from './texts.ts'
import { Try } from './try.tsx'

type Rule = BodyOf<'rules.get'>

interface Values {
  name: string
  description: string
  expression: string
  isEnabled: boolean
}

const above = [{ title: texts.title, to: '/rules' }]
const addressOf = (id: string) => `/rules/${encodeURIComponent(id)}`

const bodyOf = ({ name, description, expression, isEnabled }: Values, uiMetadata?: string) => ({
  ...{ name, expression, state: isEnabled ? ('ENABLED' as const) : ('DISABLED' as const) },
  ...(description !== '' && { description }),
  ...(uiMetadata !== undefined && { uiMetadata }),
})

const valuesOf = ({ name, description = '', expression, state }: Rule): Values => ({
  ...{ name, description, expression, isEnabled: state === 'ENABLED' },
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
    <SwitchField label={texts.state} {...form.field('isEnabled')} name="state" description={texts.stateNote} />
    {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
  </>
)

function NewRule() {
  const create = useChange('rules.create')
  const first = { name: '', description: '', expression: texts.expressionStart, isEnabled: true }
  const form = useForm<Values>(first, create.problem)
  const [, navigate] = useLocation()
  const toast = useToast()
  const body = bodyOf(form.values)
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = await create.run({ body })
    if (outcome.kind !== 'done') return
    toast(texts.created)
    const id = outcome.location?.split('/').at(-1)
    navigate(id === undefined ? '/rules' : addressOf(id))
  }
  return (
    <>
      <PageHeader title={texts.newTitle} above={above} />
      <Card>
        <form className="form" onSubmit={(event) => void submit(event)}>
          <Fields form={form} />
          <div className="form-actions">
            <AsCommand operation="rules.create" args={{ body }} />
            <LinkButton to="/rules">{texts.cancel}</LinkButton>
            <Button look="primary" type="submit" isBusy={create.isRunning}>
              {texts.submit}
            </Button>
          </div>
        </form>
      </Card>
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
        <EditRule first={rule.data} firstEtag={rule.etag} readAgain={rule.reload} />
      ) : (
        rule.problem && <ErrorNote problem={rule.problem} onRetry={() => void rule.reload()} />
      )}
    </>
  )
}

interface ChangeFormProps {
  first: Rule
  firstEtag: string | undefined
  readAgain(): Promise<{ data: Rule | undefined; etag: string | undefined }>
}

/** The script beside its triggers and actions, and a try of the script as it is typed. */
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

function ChangeForm({ first, firstEtag, readAgain, onScript }: ChangeFormProps & { onScript(text: string): void }) {
  // The version that was read when the form opened; later readings must not hide a change of another caller.
  const [etag, setEtag] = useState(firstEtag)
  const [theirs, setTheirs] = useState<{ rule: Rule; etag: string | undefined }>()
  const change = useChange('rules.update')
  const { id: ruleId } = first
  const form = useForm(valuesOf(first), change.problem)
  const [, navigate] = useLocation()
  const toast = useToast()
  const body = bodyOf(form.values, first.uiMetadata)

  async function save(ifMatch: string | undefined) {
    const outcome = await change.run({ ruleId, body }, { ifMatch })
    if (outcome.kind === 'done') {
      toast(texts.saved)
      navigate(addressOf(ruleId))
    }
    if (outcome.kind === 'conflict') {
      const { data, etag } = await readAgain()
      if (data) setTheirs({ rule: data, etag })
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void save(etag)
  }
  return (
    <Card>
      <form className="form" onSubmit={submit}>
        <Fields form={form} onScript={onScript} />
        <div className="form-actions">
          <AsCommand operation="rules.update" args={{ ruleId, body }} />
          <LinkButton to={addressOf(ruleId)}>{texts.cancel}</LinkButton>
          <Button look="primary" type="submit" isBusy={change.isRunning}>
            {texts.save}
          </Button>
        </div>
      </form>
      {theirs && (
        <ConflictDialog
          isOpen
          fields={(['name', 'description', 'expression', 'state'] as const).map((name) => ({
            ...{ name, theirs: theirs.rule[name] ?? '', yours: body[name] ?? '' },
          }))}
          onKeepYours={() => {
            setTheirs(undefined)
            void save(theirs.etag)
          }}
          onTakeTheirs={() => {
            form.set(valuesOf(theirs.rule))
            onScript(theirs.rule.expression)
            setEtag(theirs.etag)
            setTheirs(undefined)
          }}
          onClose={() => setTheirs(undefined)}
        />
      )}
    </Card>
  )
}
