/** Creates, changes and deletes an asset type. The form that results from its schema is shown beside the schema. */
import { useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { type GetResult, useChange, useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { CodeView } from '../../parts/code-view.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { JsonField, parseJson } from '../../parts/json-field.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { Menu } from '../../parts/menu.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { fieldOf, isObject, newValueOf } from '../../parts/schema/schema.ts'
import { prettyJson, SchemaEditor, useJsonDraft } from '../../parts/schema/schema-editor.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { texts } from './texts.ts'

type AssetType = BodyOf<'assetTypes.get'>

const listAddress = '/assets?tab=types'
const above = [
  { title: texts.title, to: '/assets' },
  { title: texts.tabs.types, to: listAddress },
]

export default function AssetTypePage({ params: { assetTypeId } }: PageProps) {
  const type = useGet('assetTypes.get', { assetTypeId: assetTypeId ?? '' }, { enabled: assetTypeId !== undefined })
  const may = useMay()
  if (type.isLoading) return <Loading label={texts.loadingType} />
  const { data } = type
  return (
    <>
      <PageHeader
        title={data?.displayName ?? (assetTypeId === undefined ? texts.createType : texts.typeTitle)}
        above={above}
        lead={texts.newTypeLead}
        actions={
          data && (
            <>
              <LinkButton to={`/assets?type=${encodeURIComponent(data.id)}`}>{texts.toAssets}</LinkButton>
              {may('asset-type:delete', `asset-type-${data.id}`) && <DeleteType type={data} etag={type.etag} />}
            </>
          )
        }
      />
      {type.problem && <ErrorNote problem={type.problem} onRetry={() => void type.reload()} />}
      {data && !may('asset-type:update', `asset-type-${data.id}`) && (
        <Card title={texts.schema}>
          <CodeView label={texts.schema} text={prettyJson(data.definitionJsonSchema)} />
        </Card>
      )}
      {(assetTypeId === undefined || (data && may('asset-type:update', `asset-type-${data.id}`))) && (
        <TypeForm read={type} />
      )}
    </>
  )
}

/** The schema that a new type has until the user changes it. */
const firstSchema = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string', title: 'Name', minLength: 1 } },
}

const valuesOf = (type: AssetType | undefined) => ({
  displayName: type?.displayName ?? '',
  type: type?.type ?? '',
  description: type?.description ?? '',
  definitionJsonSchema: type ? prettyJson(type.definitionJsonSchema) : JSON.stringify(firstSchema, null, 2),
})

function TypeForm({ read }: { read: GetResult<AssetType> }) {
  const first = read.data
  const create = useChange('assetTypes.create')
  const update = useChange('assetTypes.update', { also: ['assets'] })
  const form = useForm(valuesOf(first), create.problem ?? update.problem)
  const [wrong, setWrong] = useState<string>()
  const { displayName, type, description, definitionJsonSchema } = form.values
  const body = {
    ...{ displayName, definitionJsonSchema },
    ...(type !== '' && { type }),
    ...(description !== '' && { description }),
    ...(first?.uiJsonSchema !== undefined && { uiJsonSchema: first.uiJsonSchema }),
  }
  async function save(ifMatch: string | undefined) {
    const { problem } = parseJson(definitionJsonSchema)
    setWrong(problem)
    if (problem !== undefined) return { kind: 'failed' } as const
    const outcome = first ? await update.run({ assetTypeId: first.id, body }, { ifMatch }) : await create.run({ body })
    return outcome
  }
  const schemaField = form.field('definitionJsonSchema')
  const operation = first ? 'assetTypes.update' : 'assetTypes.create'
  return (
    <div className="columns">
      <EditForm
        form={form}
        read={read}
        valuesOf={valuesOf}
        save={save}
        saved={first ? texts.typeSaved : texts.typeCreated}
        next={listAddress}
        isBusy={create.isRunning || update.isRunning}
        submit={first ? texts.save : texts.submit}
        cancel={listAddress}
        command={<AsCommand operation={operation} args={{ ...(first && { assetTypeId: first.id }), body }} />}
      >
        <TextField label={texts.displayName} {...form.field('displayName')} isRequired autoFocus={!first} />
        <TextField label={texts.typeKey} {...form.field('type')} description={texts.typeKeyNote} mono />
        <TextField label={texts.description} {...form.field('description')} lines={2} />
        <JsonField
          label={texts.schemaText}
          {...schemaField}
          description={texts.schemaTextNote}
          problem={wrong ?? schemaField.problem}
        />
        {first && <Note>{texts.typeStays}</Note>}
      </EditForm>
      <FormPreview schemaText={definitionJsonSchema} />
    </div>
  )
}

/** Shows the form that assets of the type will have. */
function FormPreview({ schemaText }: { schemaText: string }) {
  const { schema, first } = useMemo(() => {
    const { value } = parseJson(schemaText)
    const isForm = isObject(value) && fieldOf(value, value).control.kind !== 'text'
    return { schema: isForm ? value : undefined, first: JSON.stringify((isForm && newValueOf(value, value)) || {}) }
  }, [schemaText])
  const draft = useJsonDraft(first)
  return (
    <Card title={texts.formPreview}>
      <div className="form">
        <p className="quiet">{schema ? texts.formPreviewNote : texts.noPreview}</p>
        {schema && <SchemaEditor label={texts.definition} schema={schema} draft={draft} />}
      </div>
    </Card>
  )
}

function DeleteType({ type, etag }: { type: AssetType; etag: string | undefined }) {
  const [isOpen, setOpen] = useState(false)
  const change = useChange('assetTypes.delete')
  const [, navigate] = useLocation()
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ assetTypeId: type.id }, { ifMatch: etag })
    if (outcome.kind !== 'done') return
    toast(texts.typeDeleted)
    navigate(listAddress)
  }
  return (
    <>
      <Menu
        entries={[{ id: 'delete', label: texts.delete, icon: 'trash', isDanger: true, onAction: () => setOpen(true) }]}
      />
      <ConfirmDelete
        objectName={texts.typeObjectName(type.displayName.slice(0, 80))}
        isOpen={isOpen}
        isBusy={change.isRunning}
        problem={change.problem}
        onConfirm={() => void remove()}
        onClose={() => setOpen(false)}
      />
    </>
  )
}
