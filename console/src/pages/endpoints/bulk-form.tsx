/** The form with the parameters of a job over many endpoints. */
import { useApplications } from '../../api/applications.ts'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { JsonField, parseJson } from '../../parts/json-field.tsx'
import { NumberField } from '../../parts/number-field.tsx'
import { bulkTexts as texts } from './texts.ts'

export type BulkKind = 'command' | 'metadata' | 'version' | 'configuration' | 'deletion'

export interface BulkParameters {
  commandType?: string
  payload?: string
  ttlSeconds?: number
  merge?: string
  versionName?: string
  name?: string
  config?: string
}

const firstMerge = '{\n  \n}'
const ttlDefault = 3600

/** Returns the body of the operation, and the problems of the input by field. */
export function bodyOf(
  kind: BulkKind,
  { commandType = '', payload = '', ttlSeconds = ttlDefault, merge = firstMerge, ...others }: BulkParameters,
): { body: Record<string, unknown>; problems: Record<string, string> } {
  const problems: Record<string, string> = {}
  const json = (field: string, text: string): unknown => {
    const { value, problem } = parseJson(text)
    if (problem !== undefined) problems[field] = problem
    return value
  }
  const { versionName = '', name = '', config = firstMerge } = others
  const bodies: Record<BulkKind, () => Record<string, unknown>> = {
    command: () => ({
      commandType,
      commandTtl: ttlSeconds * 1000,
      ...(payload.trim() !== '' && { payload: json('payload', payload) }),
    }),
    metadata: () => {
      const value = json('merge', merge)
      if (value !== undefined && (typeof value !== 'object' || value === null || Array.isArray(value)))
        problems.merge = texts.mergeObject
      return { merge: value }
    },
    version: () => ({ versionName }),
    configuration: () => ({ config: json('config', config), ...(name !== '' && { name }) }),
    deletion: () => ({}),
  }
  return { body: bodies[kind](), problems }
}

export function BulkForm({
  kind,
  application,
  parameters,
  wrong,
  onChange,
}: {
  kind: BulkKind
  application: string
  parameters: BulkParameters
  wrong: Record<string, string>
  onChange(changed: BulkParameters): void
}) {
  if (kind === 'command')
    return (
      <>
        <TextField
          label={texts.commandType}
          name="commandType"
          value={parameters.commandType ?? ''}
          onChange={(commandType) => onChange({ commandType })}
          description={texts.commandTypeNote}
          isRequired
          autoFocus
          mono
        />
        <JsonField
          label={texts.payload}
          name="payload"
          value={parameters.payload ?? ''}
          onChange={(payload) => onChange({ payload })}
          description={texts.payloadNote}
          problem={wrong.payload}
        />
        <NumberField
          label={texts.ttl}
          name="commandTtl"
          value={parameters.ttlSeconds ?? ttlDefault}
          onChange={(ttlSeconds) => onChange({ ttlSeconds })}
          description={texts.ttlNote}
          min={1}
          max={31_536_000}
          isRequired
        />
      </>
    )
  if (kind === 'metadata')
    return (
      <JsonField
        label={texts.merge}
        name="merge"
        value={parameters.merge ?? firstMerge}
        onChange={(merge) => onChange({ merge })}
        description={texts.mergeNote}
        problem={wrong.merge}
      />
    )
  if (kind === 'version')
    return (
      <VersionChoice
        application={application}
        value={parameters.versionName ?? ''}
        onChange={(versionName) => onChange({ versionName })}
      />
    )
  if (kind === 'configuration')
    return (
      <>
        <TextField
          label={texts.configName}
          name="name"
          value={parameters.name ?? ''}
          onChange={(name) => onChange({ name })}
          placeholder="default"
        />
        <JsonField
          label={texts.config}
          name="config"
          value={parameters.config ?? firstMerge}
          onChange={(config) => onChange({ config })}
          description={texts.configNote}
          problem={wrong.config}
        />
      </>
    )
  return null
}

function VersionChoice({
  application,
  value,
  onChange,
}: {
  application: string
  value: string
  onChange(version: string): void
}) {
  const { items } = useApplications()
  const options = items
    .filter(({ name }) => application === '' || name === application)
    .flatMap(({ name, displayName, versions }) =>
      versions.map((version) => ({
        value: version.name,
        label: version.name,
        description: displayName ?? name,
      })),
    )
  return (
    <SelectField
      label={texts.versionName}
      name="versionName"
      value={value}
      onChange={onChange}
      options={options}
      description={texts.versionNote}
      isRequired
    />
  )
}
