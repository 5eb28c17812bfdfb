/** Gives one configuration to chosen endpoints, or to all endpoints that match a filter at the moment of saving. */
import { type FormEvent, useState } from 'react'
import { useConfigurationSchema } from '../../api/configuration-schema.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { Link } from '../../parts/link.tsx'
import { MultiSelect } from '../../parts/multi-select.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { prettyJson, SchemaEditor, useJsonDraft } from '../../parts/schema/schema-editor.tsx'
import { Segments } from '../../parts/segments.tsx'
import { cut } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

interface Props {
  appName: string
  appVersionName: string
}

type Applied = BodyOf<'configurations.filters.update'>

export function Apply(props: Props) {
  const list = useList('configurations.defaults.list', { appVersionName: props.appVersionName })
  if (list.isLoading) return <Loading label={texts.loading} />
  if (list.problem && !list.isRead) return <ErrorNote problem={list.problem} onRetry={list.reload} />
  const start = list.items.find(({ name }) => name === 'default')?.config
  return <ApplyForm {...props} start={start === undefined ? '' : prettyJson(start)} />
}

const targets = ['endpoints', 'filter'] as const

function ApplyForm({ appName, appVersionName, start }: Props & { start: string }) {
  const schema = useConfigurationSchema(appName, appVersionName)
  const draft = useJsonDraft(start)
  const [target, setTarget] = useState<(typeof targets)[number]>('endpoints')
  const [name, setName] = useState('default')
  const [ids, setIds] = useState<string[]>([])
  const [filterId, setFilter] = useState('')
  const [wrong, setWrong] = useState<string>()
  const [isAsking, setAsking] = useState(false)
  const [applied, setApplied] = useState<Applied>()
  const batch = useChange('configurations.batch.update')
  const filtered = useChange('configurations.filters.update')
  const toast = useToast()
  const isChosen = target === 'endpoints' ? ids.length > 0 : filterId !== ''
  const body = { configPayload: draft.value, endpoints: { [appVersionName]: ids } }
  const change = target === 'endpoints' ? batch : filtered
  function submit(event: FormEvent) {
    event.preventDefault()
    setApplied(undefined)
    const problem = draft.problem ?? (isChosen ? undefined : texts.applyNobody)
    setWrong(problem)
    if (problem === undefined) setAsking(true)
  }
  async function run() {
    const outcome =
      target === 'endpoints'
        ? await batch.run({ name, body })
        : await filtered.run({ name, filterId, body: draft.value })
    setAsking(false)
    if (outcome.kind !== 'done') return
    setApplied(outcome.body)
    draft.markSaved()
    toast(texts.applied(outcome.body.endpointsCount))
  }
  return (
    <Card>
      <form className="form" onSubmit={submit}>
        <p className="quiet">{texts.applyLead}</p>
        <Segments<(typeof targets)[number]>
          label={texts.applyTo}
          value={target}
          onChange={setTarget}
          options={targets.map((value) => ({ value, label: texts.applyTargets[value] }))}
        />
        {target === 'endpoints' ? (
          <Endpoints appVersionName={appVersionName} ids={ids} onChange={setIds} />
        ) : (
          <Filters appName={appName} filterId={filterId} onChange={setFilter} />
        )}
        <TextField label={texts.name} name="name" value={name} onChange={setName} isRequired mono />
        <SchemaEditor
          label={texts.applyText}
          name={target === 'endpoints' ? 'configPayload' : 'config'}
          schema={schema}
          draft={draft}
          before={start}
          violations={change.problem?.violations}
          problem={draft.problem === undefined ? undefined : wrong}
        />
        {wrong !== undefined && draft.problem === undefined && !isChosen && <Note tone="warn">{wrong}</Note>}
        {change.problem && <ErrorNote problem={change.problem} />}
        {applied && <Result applied={applied} appName={appName} appVersionName={appVersionName} />}
        <div className="form-actions">
          {target === 'endpoints' ? (
            <AsCommand operation="configurations.batch.update" args={{ name, body }} />
          ) : (
            <AsCommand operation="configurations.filters.update" args={{ name, filterId, body: draft.value }} />
          )}
          <Button look="primary" type="submit" isBusy={change.isRunning}>
            {texts.save}
          </Button>
        </div>
      </form>
      <Confirm
        title={texts.applyTitle}
        action={texts.save}
        isOpen={isAsking}
        isBusy={change.isRunning}
        onConfirm={() => void run()}
        onClose={() => setAsking(false)}
      >
        {target === 'endpoints' ? texts.applyEndpoints(ids.length) : texts.applyFilter}
      </Confirm>
    </Card>
  )
}

const foundMax = 50

function Endpoints({
  appVersionName,
  ids,
  onChange,
}: {
  appVersionName: string
  ids: string[]
  onChange(ids: string[]): void
}) {
  const [q, setQ] = useState('')
  const list = useList('endpoints.directory.list', {
    ...{ applicationVersionName: appVersionName, limit: foundMax },
    ...(q.trim() !== '' && { search: q.trim() }),
  })
  return (
    <>
      <MultiSelect
        label={texts.applyTargets.endpoints}
        summary={ids.length === 0 ? texts.chooseEndpoints : texts.chosenEndpoints(ids.length)}
        options={list.items.map(({ endpointId }) => ({ value: endpointId, label: endpointId }))}
        values={ids}
        onChange={onChange}
        search={q}
        onSearch={setQ}
      />
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
    </>
  )
}

function Filters({ appName, filterId, onChange }: { appName: string; filterId: string; onChange(id: string): void }) {
  const list = useList('endpointFilters.list', { applicationName: appName })
  return (
    <>
      {!list.isLoading && !list.problem && list.items.length === 0 && (
        <Note action={<Link to={`/filters/${encodeURIComponent(appName)}/new`}>{texts.newFilter}</Link>}>
          {texts.noFilters}
        </Note>
      )}
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      <SelectField
        label={texts.filter}
        name="filterId"
        value={filterId}
        onChange={onChange}
        options={list.items.map(({ id, name }) => ({ value: id, label: cut(name, 80).shown }))}
        isRequired
      />
    </>
  )
}

function Result({ applied, appName, appVersionName }: Props & { applied: Applied }) {
  const parameters = new URLSearchParams({
    ...{ tab: 'statuses', application: appName, version: appVersionName, config: applied.configId },
  })
  return (
    <Note tone="good" action={<Link to={`/configuration?${parameters}`}>{texts.toStatuses}</Link>}>
      {texts.applied(applied.endpointsCount)}
    </Note>
  )
}
