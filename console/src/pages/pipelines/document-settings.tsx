/** Settings of documents: whether samples of an application are kept as documents, for how long, and which pipeline processes them. */
import { type FormEvent, useState } from 'react'
import { useMay, useMe } from '../../api/me.ts'
import { useChange, useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { NumberField } from '../../parts/number-field.tsx'
import { Text } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { pipelinesOf } from './definition.ts'
import { documentTexts as texts } from './texts.ts'

/** The template of an application (the settings of its documents), as the API returns it. */
interface Template {
  settings?: { index?: Record<string, unknown> } & Record<string, unknown>
  [field: string]: unknown
}

const none = '*'

export function DocumentSettings({ applicationName }: { applicationName: string }) {
  const { data: me } = useMe()
  const tenantID = me?.tenantId ?? ''
  const read = useGet('ingest.templates.get', { tenantID, applicationName }, { enabled: tenantID !== '' })
  const may = useMay()
  const resource = `application-${applicationName}`
  const isAbsent = read.problem?.status === 404
  // After a deletion, the data that was read before is still there.
  const template = isAbsent ? undefined : (Object.values(read.data ?? {})[0] as Template | undefined)
  if (read.isLoading) return <Loading label={texts.loading} />
  return (
    <Card title={texts.settings}>
      <div className="stack">
        {read.problem && !isAbsent && <ErrorNote problem={read.problem} onRetry={() => void read.reload()} />}
        {isAbsent && <Note>{texts.off}</Note>}
        {template && <Note tone="good">{texts.on}</Note>}
        {(template || isAbsent) &&
          (may('application:update', resource) ? (
            <TemplateForm
              index={{ tenantID, applicationName }}
              template={template}
              mayDelete={may('application:delete', resource)}
              mayListPipelines={may('application:read', 'tenant-system')}
            />
          ) : (
            template && <Present template={template} />
          ))}
      </div>
    </Card>
  )
}

const Present = ({ template }: { template: Template }) => (
  <Facts
    items={[
      [texts.pipeline, <Text key="pipeline" value={template.settings?.index?.default_pipeline} max={100} mono />],
      [texts.retention, <Text key="days" value={template.settings?.index?.retention_days} max={20} />],
    ]}
  />
)

interface FormProps {
  index: { tenantID: string; applicationName: string }
  template: Template | undefined
  mayDelete: boolean
  mayListPipelines: boolean
}

function TemplateForm({ index, template, mayDelete, mayListPipelines }: FormProps) {
  const { default_pipeline: named, retention_days: days, ...others } = template?.settings?.index ?? {}
  const [pipeline, setPipeline] = useState(typeof named === 'string' ? named : none)
  const [retention, setRetention] = useState(days === undefined || days === null ? Number.NaN : Number(days))
  const all = useGet('ingest.pipelines.list', {}, { enabled: mayListPipelines })
  const change = useChange('ingest.templates.update')
  const toast = useToast()
  const ids = pipelinesOf(all.data, index.tenantID).map(({ id }) => id)
  // The pipeline that the template names is always an option: its name can have the tenant as a prefix, or the caller may not be able to
  // list it.
  const options = [...new Set([...(pipeline === none ? [] : [pipeline]), ...ids])]
  const { index_patterns: _patterns, ...kept } = template ?? {}
  const settings = {
    ...template?.settings,
    index: {
      ...others,
      ...(pipeline !== none && { default_pipeline: pipeline }),
      ...(!Number.isNaN(retention) && { retention_days: retention }),
    },
  }
  const body = { ...kept, settings }
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = await change.run({ ...index, body })
    if (outcome.kind === 'done') toast(texts.saved)
  }
  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      <SelectField
        label={texts.pipeline}
        name="default_pipeline"
        value={pipeline}
        onChange={setPipeline}
        description={texts.pipelineNote}
        options={[{ value: none, label: texts.noPipeline }, ...options.map((value) => ({ value, label: value }))]}
        isRequired
      />
      <NumberField
        label={texts.retention}
        name="retention_days"
        value={retention}
        onChange={setRetention}
        description={texts.retentionNote}
        min={0}
      />
      {change.problem && <ErrorNote problem={change.problem} />}
      <div className="form-actions">
        <AsCommand operation="ingest.templates.update" args={{ ...index, body }} />
        {template && mayDelete && <Stop index={index} />}
        <Button look="primary" type="submit" isBusy={change.isRunning}>
          {template ? texts.save : texts.keep}
        </Button>
      </div>
    </form>
  )
}

function Stop({ index }: Pick<FormProps, 'index'>) {
  const [isOpen, setOpen] = useState(false)
  const change = useChange('ingest.templates.delete', { staysOpen: true })
  const toast = useToast()
  async function stop() {
    const outcome = await change.run(index)
    if (outcome.kind !== 'done') return
    toast(texts.stopped)
    setOpen(false)
  }
  return (
    <>
      <Button onPress={() => setOpen(true)}>{texts.stop}</Button>
      <Confirm
        title={texts.stopTitle}
        action={texts.stop}
        isDanger
        isOpen={isOpen}
        isBusy={change.isRunning}
        problem={change.problem}
        onConfirm={() => void stop()}
        onClose={() => setOpen(false)}
      >
        {texts.stopText}
      </Confirm>
    </>
  )
}
