/** Creates or changes a pipeline, and simulates the typed definition beside the form. */
import { useState } from 'react'
import { useMe } from '../../api/me.ts'
import { type GetResult, useChange, useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Loading } from '../../parts/card.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { JsonField, parseJson } from '../../parts/json-field.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import type { PageProps } from '../page-props.ts'
import { type Definition, definitionOf, isRounded, pipelinesOf, pretty } from './definition.ts'
import { Simulate } from './simulate.tsx'
import { texts } from './texts.ts'

const above = [{ title: texts.title, to: '/pipelines' }]
const addressOf = (id: string) => `/pipelines/${encodeURIComponent(id)}`

const firstProcessors = [
  { set: { field: 'kind', value: 'sample' } },
  {
    script: {
      if: 'ctx.dataSample.celsius != null',
      source: 'ctx.dataSample.fahrenheit = ctx.dataSample.celsius * 1.8 + 32',
    },
  },
]

const valuesOf = (definition: Definition | undefined) => ({
  description: definition?.description ?? '',
  processors: pretty(definition?.processors ?? firstProcessors),
  on_failure: definition?.on_failure === undefined ? '' : pretty(definition.on_failure),
})

export default function PipelineEditPage({ params: { pipelineId } }: PageProps) {
  const pipeline = useGet(
    'ingest.pipelines.get',
    { pipelineID: pipelineId ?? '' },
    { enabled: pipelineId !== undefined },
  )
  if (pipeline.isLoading) return <Loading label={texts.loading} />
  if (pipelineId === undefined)
    return (
      <>
        <PageHeader title={texts.newTitle} above={above} />
        <PipelineForm pipelineId={undefined} read={pipeline} />
      </>
    )
  return (
    <>
      <PageHeader
        title={texts.editTitle(pipelineId)}
        above={[...above, { title: pipelineId, to: addressOf(pipelineId) }]}
      />
      {pipeline.data ? (
        <PipelineForm pipelineId={pipelineId} read={pipeline} />
      ) : (
        pipeline.problem && <ErrorNote problem={pipeline.problem} onRetry={() => void pipeline.reload()} />
      )}
    </>
  )
}

/** Returns why the page cannot save a text as a list of processors. */
function listProblem(typed: string): string | undefined {
  const { value, problem } = parseJson(typed)
  if (problem !== undefined) return problem
  if (!Array.isArray(value)) return texts.notList
  return isRounded(value) ? texts.tooPrecise : undefined
}

interface FormProps {
  pipelineId: string | undefined
  read: GetResult<Record<string, unknown>>
}

function PipelineForm({ pipelineId, read }: FormProps) {
  const [first] = useState(() => definitionOf(read.data))
  const all = useGet('ingest.pipelines.list', {}, { enabled: pipelineId === undefined })
  const { data: me } = useMe()
  const change = useChange('ingest.pipelines.update')
  const form = useForm({ pipelineID: '', ...valuesOf(first) }, change.problem)
  const [isChecked, setChecked] = useState(false)
  const { pipelineID: typedId, description, processors, on_failure: handlers } = form.values
  const pipelineID = pipelineId ?? typedId
  const problems = {
    processors: listProblem(processors) ?? (isRounded(first) ? texts.tooPrecise : undefined),
    on_failure: handlers.trim() === '' ? undefined : listProblem(handlers),
    pipelineID:
      pipelineId === undefined && pipelinesOf(all.data, me?.tenantId ?? '').some(({ id }) => id === typedId)
        ? texts.taken
        : undefined,
  }
  const { description: _d, on_failure: _f, ...kept } = definitionOf(read.data) ?? { processors: [] }
  const body = {
    ...kept,
    ...(description !== '' && { description }),
    processors: (problems.processors ? [] : parseJson(processors).value) as Definition['processors'],
    ...(handlers.trim() !== '' &&
      !problems.on_failure && { on_failure: parseJson(handlers).value as Definition['processors'] }),
  }
  async function save(ifMatch: string | undefined) {
    setChecked(true)
    if (Object.values(problems).some(Boolean)) return { kind: 'failed' } as const
    return await change.run({ pipelineID, body }, { ifMatch })
  }
  const problemOf = (name: keyof typeof problems) =>
    (isChecked ? problems[name] : undefined) ?? form.field(name).problem
  return (
    <div className="columns">
      <EditForm
        form={form}
        read={read}
        save={save}
        valuesOf={(data) => valuesOf(definitionOf(data))}
        saved={pipelineId === undefined ? texts.created : texts.saved}
        next={addressOf(pipelineID)}
        isBusy={change.isRunning}
        submit={pipelineId === undefined ? texts.submit : texts.save}
        cancel={pipelineId === undefined ? '/pipelines' : addressOf(pipelineId)}
        command={<AsCommand operation="ingest.pipelines.update" args={{ pipelineID, body }} />}
      >
        {pipelineId === undefined && (
          <TextField
            label={texts.id}
            {...form.field('pipelineID')}
            description={texts.idNote}
            problem={problemOf('pipelineID')}
            isRequired
            mono
            autoFocus
          />
        )}
        <TextField label={texts.description} {...form.field('description')} autoFocus={pipelineId !== undefined} />
        <JsonField
          label={texts.processors}
          {...form.field('processors')}
          description={texts.processorsNote}
          problem={problemOf('processors')}
        />
        <JsonField
          label={texts.onFailureField}
          {...form.field('on_failure')}
          description={texts.onFailureFieldNote}
          problem={problemOf('on_failure')}
        />
      </EditForm>
      <Simulate definition={problems.processors || problems.on_failure ? undefined : body} />
    </div>
  )
}
