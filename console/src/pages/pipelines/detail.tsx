/** One pipeline: its processors, a simulation with a document, and the definition as JSON. */
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import { useChange, useGet } from '../../api/query.ts'
import { oneOf, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { DeleteMenu } from '../../parts/delete-menu.tsx'
import { JsonView } from '../../parts/json-view.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { type Definition, definitionOf, type Processor, typeOf } from './definition.ts'
import { Simulate } from './simulate.tsx'
import { texts } from './texts.ts'

const tabIds = ['pipeline', 'try', 'json'] as const
const above = [{ title: texts.title, to: '/pipelines' }]
const processorsMax = 100
/** Maximum number of options of a processor that are shown. Only scripts can have more, because they can have many parameters. */
const optionsMax = 20

export default function PipelinePage({ params }: PageProps) {
  const pipelineID = params.pipelineId!
  const pipeline = useGet('ingest.pipelines.get', { pipelineID })
  const address = useAddressState({ tab: oneOf(tabIds, 'pipeline') })
  const may = useMay()
  const definition = definitionOf(pipeline.data)
  if (pipeline.isLoading) return <Loading label={texts.loading} />
  if (!definition)
    return (
      <>
        <PageHeader title={pipelineID} above={above} />
        {pipeline.problem && <ErrorNote problem={pipeline.problem} onRetry={() => void pipeline.reload()} />}
      </>
    )
  const mayUpdate = may('application:update', 'tenant-system')
  const { tab } = address.values
  return (
    <>
      <PageHeader
        title={pipelineID}
        above={above}
        lead={definition.description && <Text value={definition.description} max={300} />}
        actions={
          <>
            <AsCommand operation="ingest.pipelines.get" args={{ pipelineID }} />
            {mayUpdate && (
              <LinkButton to={`/pipelines/${encodeURIComponent(pipelineID)}/edit`} icon="edit">
                {texts.edit}
              </LinkButton>
            )}
            {may('application:delete', 'tenant-system') && (
              <DeletePipeline pipelineID={pipelineID} etag={pipeline.etag} />
            )}
          </>
        }
      />
      <Tabs
        label={texts.tabs.label}
        current={tab}
        tabs={tabIds.filter((id) => id !== 'try' || mayUpdate).map((id) => ({ id, title: texts.tabs[id] }))}
      >
        {tab === 'pipeline' && <Overview pipelineID={pipelineID} definition={definition} />}
        {tab === 'try' && (
          <div className="columns">
            <Simulate pipelineID={pipelineID} />
          </div>
        )}
        {tab === 'json' && <JsonView label={texts.definition} value={definition} />}
      </Tabs>
    </>
  )
}

function Overview({ pipelineID, definition }: { pipelineID: string; definition: Definition }) {
  const { processors, on_failure: handlers = [], description, version } = definition
  return (
    <div className="columns">
      <Card title={texts.processors}>
        {processors.length === 0 ? <p className="quiet">{texts.noProcessors}</p> : <Steps processors={processors} />}
      </Card>
      <div className="stack">
        <Card title={texts.onFailure}>
          <div className="stack">
            <p className="quiet">{handlers.length === 0 ? texts.noOnFailure : texts.onFailureNote}</p>
            {handlers.length > 0 && <Steps processors={handlers} />}
          </div>
        </Card>
        <Card title={texts.about}>
          <Facts
            items={[
              [texts.facts.id, <Text key="id" value={pipelineID} mono />],
              [texts.facts.description, <Text key="description" value={description} max={1000} />],
              [texts.facts.version, <Text key="version" value={version} max={60} />],
              [texts.facts.processors, count(processors.length)],
              [
                texts.facts.use,
                <Link key="use" to="/pipelines?tab=documents">
                  {texts.use}
                </Link>,
              ],
            ]}
          />
        </Card>
      </div>
    </div>
  )
}

/** Fields of a processor that the list shows separately from its options. */
const named = new Set(['if', 'tag', 'description'])

const Options = ({ options }: { options: Record<string, unknown> }) => (
  <dl className="pipeline-options">
    {Object.entries(options)
      .slice(0, optionsMax)
      .map(([name, value]) => (
        <div key={name}>
          <dt>
            <Text value={name} max={60} />
          </dt>
          <dd>
            <Text value={value} max={400} mono />
          </dd>
        </div>
      ))}
  </dl>
)

const Steps = ({ processors }: { processors: Processor[] }) => (
  <>
    <ol className="pipeline-steps">
      {processors.slice(0, processorsMax).map((processor, index) => {
        const type = typeOf(processor)
        const options = processor[type] ?? {}
        const rest = Object.fromEntries(Object.entries(options).filter(([name]) => !named.has(name)))
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: processors have no other name than their position
          <li key={index}>
            <span className="pipeline-step-head">
              <strong>
                <Text value={type} max={60} />
              </strong>
              {(options.description ?? options.tag) !== undefined && (
                <span className="quiet">
                  <Text value={options.description ?? options.tag} max={200} />
                </span>
              )}
            </span>
            {options.if !== undefined && (
              <span className="pipeline-condition">
                {texts.condition} <Text value={options.if} max={300} mono />
              </span>
            )}
            <Options options={rest} />
          </li>
        )
      })}
    </ol>
    {processors.length > processorsMax && <p className="quiet">{texts.more(processors.length - processorsMax)}</p>}
  </>
)

function DeletePipeline({ pipelineID, etag }: { pipelineID: string; etag: string | undefined }) {
  const change = useChange('ingest.pipelines.delete')
  const [, navigate] = useLocation()
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ pipelineID }, { ifMatch: etag })
    if (outcome.kind === 'conflict') toast(texts.changedMeanwhile, 'bad')
    if (outcome.kind !== 'done') return
    toast(texts.deleted)
    navigate('/pipelines')
  }
  return (
    <DeleteMenu
      objectName={texts.objectName(pipelineID)}
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void remove()}
    />
  )
}
