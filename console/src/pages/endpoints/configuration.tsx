/** Compares the configuration of an endpoint with the configuration that the device has applied. */
import { useState } from 'react'
import { useConfigurationSchema } from '../../api/configuration-schema.ts'
import type { BodyOf, ItemOf } from '../../api/operation-types.ts'
import { type GetResult, useChange, useGet, useList } from '../../api/query.ts'
import { text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { useConditionalSave } from '../../parts/conditional-save.tsx'
import { parseJson } from '../../parts/json-field.tsx'
import { JsonView } from '../../parts/json-view.tsx'
import { compareJson, mergeJson } from '../../parts/merge.ts'
import { EmptyState, ErrorNote, Note } from '../../parts/notes.tsx'
import { SchemaEditor, useJsonDraft } from '../../parts/schema/schema-editor.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { differencesOf } from './differences.ts'
import type { TabProps } from './tab.ts'
import { tabTexts as texts } from './tab-texts.ts'

type Status = ItemOf<'configurations.statuses.list'>
type Own = ItemOf<'configurations.endpoints.list'>

const tones: Record<Status['status'], Tone> = { PENDING: 'quiet', DISPATCHED: 'info', APPLIED: 'good', FAILED: 'bad' }
const defaultName = 'default'

const valueOfConfig = (config: string | undefined): unknown =>
  config === undefined ? undefined : (parseJson(config).value ?? config)

export default function ConfigurationTab(props: TabProps) {
  const { endpointId, appVersion } = props.endpoint
  const address = useAddressState({ tab: text('now'), name: text(defaultName) })
  const { name } = address.values
  const versionName = appVersion.name
  const own = useList('configurations.endpoints.list', { endpointId, appVersionName: versionName })
  const statuses = useList(
    'configurations.statuses.list',
    { endpointId, appVersionName: versionName, size: 100 },
    { refreshMs: 5_000 },
  )
  const names = [
    ...new Set([defaultName, ...own.items.map((one) => one.name), ...statuses.items.map((one) => one.name)]),
  ]
  if (own.isLoading || statuses.isLoading) return <Loading label={texts.loading} />
  const problem = own.problem ?? statuses.problem
  const note = problem && <ErrorNote problem={problem} onRetry={own.reload} />
  if (!own.isRead || !statuses.isRead) return note
  return (
    <>
      {note}
      {names.length > 1 && (
        <Segments
          label={texts.names}
          value={name}
          onChange={(name) => address.set({ name })}
          options={names.map((value) => ({ value, label: value }))}
        />
      )}
      <Named
        key={name}
        {...props}
        name={name}
        own={own.items.find((one) => one.name === name)}
        statuses={statuses.items.filter((one) => one.name === name)}
      />
    </>
  )
}

function Named(props: TabProps & { name: string; own: Own | undefined; statuses: Status[] }) {
  const { endpoint, mayUpdate, name, own, statuses } = props
  const { endpointId, appVersion } = endpoint
  const args = { endpointId, appVersionName: appVersion.name, name }
  const [isEditing, setEditing] = useState(false)
  const remove = useChange('configurations.endpoints.delete')
  const toast = useToast()
  // The newest status belongs to the effective configuration.
  const current = statuses[0]
  const config = own?.config ?? current?.config
  const applied = statuses.find(({ status }) => status === 'APPLIED')
  async function takeDefault() {
    const outcome = await remove.run(args)
    if (outcome.kind === 'done') toast(texts.removed)
  }
  if (isEditing) return <Editor {...props} config={config} onClose={() => setEditing(false)} />
  return (
    <>
      <Comparison configured={valueOfConfig(config)} applied={applied} isKnown={config !== undefined} />
      {remove.problem && <ErrorNote problem={remove.problem} />}
      <div className="columns">
        <Card
          title={texts.configured}
          actions={
            <>
              <AsCommand operation="configurations.endpoints.get" args={args} />
              {mayUpdate && own && (
                <Button size="small" onPress={() => void takeDefault()} isBusy={remove.isRunning}>
                  {texts.removeOwn}
                </Button>
              )}
              {mayUpdate && (
                <Button size="small" icon="edit" onPress={() => setEditing(true)}>
                  {texts.edit}
                </Button>
              )}
            </>
          }
        >
          {config === undefined ? (
            <EmptyState icon="sliders" title={texts.notConfiguredTitle}>
              {texts.notConfigured}
            </EmptyState>
          ) : (
            <>
              <p className="quiet">{own ? texts.own : texts.byDefault}</p>
              <JsonView value={valueOfConfig(config)} label={texts.configured} />
            </>
          )}
        </Card>
        <Card title={texts.applied}>
          {current && <StatusFacts status={current} />}
          {applied ? (
            <JsonView value={valueOfConfig(applied.config)} label={texts.applied} />
          ) : (
            <p className="quiet">{texts.nothingApplied}</p>
          )}
        </Card>
      </div>
    </>
  )
}

const StatusFacts = ({ status }: { status: Status }) => (
  <Facts
    items={[
      [
        texts.status,
        <Badge key="status" tone={tones[status.status]}>
          {texts.states[status.status]}
        </Badge>,
      ],
      [texts.offered, <Time key="sent" value={status.lastDispatchedDate} />],
      [texts.reported, <Time key="reported" value={status.lastConfirmedDate} />],
      [
        texts.result,
        <Text
          key="result"
          value={[status.confirmationStatusCode, status.confirmationReasonPhrase]
            .filter((part) => part !== undefined)
            .join(' ')}
        />,
      ],
    ]}
  />
)

function Comparison({
  configured,
  applied,
  isKnown,
}: {
  configured: unknown
  applied: Status | undefined
  isKnown: boolean
}) {
  if (!isKnown || !applied) return null
  const fields = differencesOf(configured, valueOfConfig(applied.config))
  if (fields.length === 0) return <Note tone="good">{texts.same}</Note>
  return (
    <>
      <Note tone="warn">{texts.differs}</Note>
      <Card title={texts.difference} flush>
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.field}</th>
                <th scope="col">{texts.configured}</th>
                <th scope="col">{texts.applied}</th>
              </tr>
            </thead>
            <tbody>
              {fields.map(({ path, left, right }) => (
                <tr key={path} className="differs">
                  <th scope="row">
                    <Text value={path} mono max={80} />
                  </th>
                  <td>
                    <Text value={left} mono max={120} />
                  </td>
                  <td>
                    <Text value={right} mono max={120} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Card>
    </>
  )
}

interface EditorProps extends TabProps {
  name: string
  own: Own | undefined
  config: string | undefined
  onClose(): void
}

function Editor(props: EditorProps) {
  const { endpointId, appVersion } = props.endpoint
  const args = { endpointId, appVersionName: appVersion.name, name: props.name }
  // If the endpoint has its own configuration, that configuration is read for its ETag. Otherwise the endpoint uses the default of its
  // version, and saving creates its own configuration, without an ETag.
  const [hasOwn] = useState(props.own !== undefined)
  const read = useGet('configurations.endpoints.get', args, { enabled: hasOwn })
  if (read.isLoading) return <Loading label={texts.loading} />
  if (hasOwn && !read.data)
    return read.problem && <ErrorNote problem={read.problem} onRetry={() => void read.reload()} />
  return <ConfigurationForm {...props} args={args} read={read} />
}

type Configuration = BodyOf<'configurations.endpoints.get'>

interface FormProps extends EditorProps {
  args: { endpointId: string; appVersionName: string; name: string }
  read: GetResult<Configuration>
}

function ConfigurationForm({ endpoint: { appName, appVersion }, name, config, onClose, args, read }: FormProps) {
  const [before] = useState(() => JSON.stringify(valueOfConfig(read.data?.config ?? config) ?? {}, null, 2))
  const draft = useJsonDraft(before)
  const schema = useConfigurationSchema(appName, appVersion.name)
  const [wrong, setWrong] = useState<string>()
  const change = useChange('configurations.endpoints.update')
  const toast = useToast()
  const versionsWith = (theirs: Configuration) =>
    [parseJson(before).value, parseJson(theirs.config).value, draft.value] as const
  const { save, dialog } = useConditionalSave<Configuration>({
    etag: read.etag,
    async save(ifMatch) {
      setWrong(draft.problem)
      if (draft.problem !== undefined) return 'failed'
      return (await change.run({ ...args, body: draft.value }, { ifMatch })).kind
    },
    readAgain: read.reload,
    compare: (theirs) => compareJson(name, ...versionsWith(theirs)),
    onMerge: (theirs) => draft.setValue(mergeJson(...versionsWith(theirs))),
    onTake: onClose,
    onDone: () => {
      toast(texts.saved)
      onClose()
    },
  })
  return (
    <Card title={texts.configured}>
      <div className="form">
        <SchemaEditor
          label={texts.configJson}
          name={name}
          schema={schema}
          draft={draft}
          before={before}
          description={texts.configNote}
          violations={change.problem?.violations}
          problem={wrong}
        />
        {change.problem && <ErrorNote problem={change.problem} />}
        <div className="form-actions">
          <AsCommand operation="configurations.endpoints.update" args={{ ...args, body: draft.value ?? {} }} />
          <CancelButton onPress={onClose} />
          <Button look="primary" onPress={() => void save()} isBusy={change.isRunning}>
            {texts.save}
          </Button>
        </div>
      </div>
      {dialog}
    </Card>
  )
}
