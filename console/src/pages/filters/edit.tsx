/**
 * Creates or changes a filter. The user enters conditions, and sees how many endpoints currently meet them, or enters any query as JSON.
 */
import { useState } from 'react'
import type { BodyOf } from '../../api/operation-types.ts'
import { type GetResult, useChange, useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button, IconButton } from '../../parts/button.tsx'
import { Loading } from '../../parts/card.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { JsonField, parseJson } from '../../parts/json-field.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Segments } from '../../parts/segments.tsx'
import type { PageProps } from '../page-props.ts'
import { type Condition, conditionsOf, criteriaOf, queryOf } from './query.ts'
import { texts } from './texts.ts'

type Filter = BodyOf<'endpointFilters.get'>

export default function EditFilterPage({ params }: PageProps) {
  const applicationName = params.applicationName!
  const { filterId } = params
  const filter = useGet(
    'endpointFilters.get',
    { applicationName, filterId: filterId ?? '' },
    { enabled: filterId !== undefined },
  )
  const above = [{ title: texts.title, to: `/filters?application=${encodeURIComponent(applicationName)}` }]
  if (filter.isLoading) return <Loading label={texts.loading} />
  return (
    <>
      <PageHeader
        title={filter.data ? texts.editTitle(filter.data.name) : texts.create}
        above={above}
        lead={texts.newLead}
      />
      {filterId !== undefined && !filter.data ? (
        filter.problem && <ErrorNote problem={filter.problem} onRetry={() => void filter.reload()} />
      ) : (
        <FilterForm applicationName={applicationName} read={filter} />
      )}
    </>
  )
}

interface FormProps {
  applicationName: string
  read: GetResult<Filter>
}

const valuesOf = (filter: Filter | undefined) => ({
  name: filter?.name ?? '',
  description: filter?.description ?? '',
  documentQuery: JSON.stringify(filter?.documentQuery ?? {}, null, 2),
})

function FilterForm({ applicationName, read }: FormProps) {
  const filter = read.data
  const create = useChange('endpointFilters.create')
  const patch = useChange('endpointFilters.patch')
  const form = useForm(valuesOf(filter), create.problem ?? patch.problem)
  const [wrong, setWrong] = useState<string>()
  const [taken, setTaken] = useState(0)
  const { documentQuery: typed, ...rest } = form.values
  const { value } = parseJson(typed)
  const query = typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as object) : undefined
  const body = { ...rest, documentQuery: (query ?? {}) as Record<string, unknown> }

  async function save(ifMatch: string | undefined) {
    setWrong(query ? undefined : (parseJson(typed).problem ?? texts.notObject))
    if (!query) return { kind: 'failed' } as const
    return filter
      ? await patch.run({ applicationName, filterId: filter.id, body }, { ifMatch })
      : await create.run({ applicationName, body })
  }
  return (
    <EditForm
      form={form}
      read={read}
      save={save}
      valuesOf={valuesOf}
      onTaken={() => setTaken(taken + 1)}
      saved={texts.saved}
      next={({ body }) => `/filters/${encodeURIComponent(applicationName)}/${encodeURIComponent(body.id)}`}
      isBusy={create.isRunning || patch.isRunning}
      submit={texts.save}
      cancel={`/filters?application=${encodeURIComponent(applicationName)}`}
      command={
        <AsCommand
          operation={filter ? 'endpointFilters.patch' : 'endpointFilters.create'}
          args={{ applicationName, ...(filter && { filterId: filter.id }), body }}
        />
      }
    >
      <TextField label={texts.name} {...form.field('name')} isRequired autoFocus={!filter} />
      <TextField label={texts.description} {...form.field('description')} />
      <QueryField
        key={taken}
        applicationName={applicationName}
        typed={typed}
        onChange={(documentQuery) => form.set({ documentQuery })}
        problem={wrong ?? form.field('documentQuery').problem}
      />
    </EditForm>
  )
}

function QueryField({
  applicationName,
  typed,
  onChange,
  problem,
}: {
  applicationName: string
  typed: string
  onChange(typed: string): void
  problem: string | undefined
}) {
  const parsed = parseJson(typed).value as Record<string, unknown> | undefined
  const known = parsed && typeof parsed === 'object' ? conditionsOf(parsed) : undefined
  const [view, setView] = useState<'form' | 'json'>(known ? 'form' : 'json')
  const [rows, setRows] = useState<Condition[]>(() => (known && known.length > 0 ? known : [{ key: '', values: '' }]))
  const change = (next: Condition[]) => {
    setRows(next)
    onChange(JSON.stringify(queryOf(next), null, 2))
  }
  return (
    <>
      <Segments
        label={texts.view}
        value={view}
        onChange={(next) => {
          if (next === 'form' && known) setRows(known.length > 0 ? known : [{ key: '', values: '' }])
          if (next === 'json' || known) setView(next)
        }}
        options={[
          { value: 'form', label: texts.asConditions },
          { value: 'json', label: texts.asJson },
        ]}
      />
      {view === 'form' ? (
        <Rows rows={rows} onChange={change} />
      ) : (
        <>
          {!known && <Note>{texts.onlyJson}</Note>}
          <JsonField
            label={texts.json}
            name="documentQuery"
            value={typed}
            onChange={onChange}
            description={texts.jsonNote}
            problem={problem}
          />
        </>
      )}
      {known ? <Preview applicationName={applicationName} conditions={known} /> : <Note>{texts.previewUnknown}</Note>}
    </>
  )
}

function Rows({ rows, onChange }: { rows: Condition[]; onChange(rows: Condition[]): void }) {
  const set = (index: number, changed: Partial<Condition>) =>
    onChange(rows.map((row, at) => (at === index ? { ...row, ...changed } : row)))
  return (
    <div className="filter-rows">
      {rows.map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name while they are typed
        <div key={index} className="filter-row">
          <TextField
            label={texts.key}
            value={row.key}
            onChange={(key) => set(index, { key })}
            description={index === 0 ? texts.keyNote : undefined}
            mono
            isRequired
          />
          <TextField
            label={texts.values}
            value={row.values}
            onChange={(values) => set(index, { values })}
            description={index === 0 ? texts.valuesNote : undefined}
            isRequired
          />
          <IconButton
            icon="trash"
            label={texts.remove}
            onPress={() =>
              onChange(rows.length === 1 ? [{ key: '', values: '' }] : rows.filter((_, at) => at !== index))
            }
          />
        </div>
      ))}
      <Button icon="plus" onPress={() => onChange([...rows, { key: '', values: '' }])}>
        {texts.add}
      </Button>
    </div>
  )
}

/** Shows how many endpoints currently meet the conditions, before the filter is saved. */
function Preview({ applicationName, conditions }: { applicationName: string; conditions: Condition[] }) {
  const and = criteriaOf(conditions)
  const found = useList('endpoints.search', { body: { and, applicationName, limit: 1 } })
  if (found.problem) return <ErrorNote problem={found.problem} onRetry={found.reload} />
  return (
    <Note tone={found.total === 0 ? 'warn' : 'good'}>
      <strong>{found.total === undefined ? texts.loading : texts.membersOf(found.total)}</strong>{' '}
      {and.length === 0 && texts.previewEvery}
    </Note>
  )
}
