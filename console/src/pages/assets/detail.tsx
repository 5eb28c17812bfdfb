/** One asset: its facts, its relations, and the schema of its type. Users edit the definition of the asset or delete the asset. */
import { type FormEvent, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { CodeView } from '../../parts/code-view.tsx'
import { useConditionalSave } from '../../parts/conditional-save.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { parseJson } from '../../parts/json-field.tsx'
import { Link } from '../../parts/link.tsx'
import { Menu } from '../../parts/menu.tsx'
import { compareJson, mergeJson } from '../../parts/merge.ts'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { prettyJson, SchemaEditor, useJsonDraft } from '../../parts/schema/schema-editor.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { nameOf } from './name.ts'
import { AssetRelations } from './relations.tsx'
import { texts } from './texts.ts'

type Asset = BodyOf<'assets.get'>

export default function AssetPage({ params }: PageProps) {
  const assetId = params.assetId!
  const asset = useGet('assets.get', { assetId })
  const may = useMay()
  const { data } = asset
  const type = useGet(
    'assetTypes.get',
    { assetTypeId: data?.assetTypeId ?? '' },
    { enabled: data !== undefined && may('asset-type:read') },
  )
  const relations = useList('assets.relations.list', { entityIds: assetId, entityType: 'ASSET' })
  const above = [{ title: texts.title, to: '/assets' }]
  if (asset.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return (
      <>
        <PageHeader title={assetId} above={above} />
        {asset.problem && <ErrorNote problem={asset.problem} onRetry={() => void asset.reload()} />}
      </>
    )
  const resource = `asset-${assetId}`
  return (
    <>
      <PageHeader
        title={nameOf(data)}
        above={above}
        actions={
          <>
            <AsCommand operation="assets.get" args={{ assetId }} />
            {may('asset:delete', resource) && (
              <DeleteAsset asset={data} etag={asset.etag} relations={relations.items.length} />
            )}
          </>
        }
      />
      <div className="columns">
        <Definition
          asset={data}
          etag={asset.etag}
          schemaText={type.data?.definitionJsonSchema}
          readAgain={asset.reload}
          mayChange={may('asset:update', resource)}
        />
        <Card title={texts.about}>
          <Facts
            items={[
              [texts.facts.id, <Text key="id" value={data.id} mono />],
              [
                texts.facts.type,
                <Link key="type" to={`/assets/types/${encodeURIComponent(data.assetTypeId)}`}>
                  <Text value={type.data?.displayName ?? data.assetTypeId} max={80} />
                </Link>,
              ],
              [texts.facts.created, <Time key="created" value={data.createdAt} style="full" />],
              [texts.facts.updated, <Time key="updated" value={data.updatedAt} />],
            ]}
          />
        </Card>
        <AssetRelations
          assetId={assetId}
          name={nameOf(data)}
          relations={relations}
          mayChange={may('asset:update', resource)}
        />
        {type.data && (
          <Card title={texts.schema}>
            <CodeView label={texts.schema} text={prettyJson(type.data.definitionJsonSchema)} />
          </Card>
        )}
      </div>
    </>
  )
}

interface DefinitionProps {
  asset: Asset
  etag: string | undefined
  /** Text of the JSON schema of the type; undefined if the caller may not read the type. */
  schemaText: string | undefined
  readAgain(): Promise<{ data: Asset | undefined; etag: string | undefined }>
  mayChange: boolean
}

function Definition(props: DefinitionProps) {
  const { asset, etag, mayChange } = props
  // The asset as it was read when the user began to edit, with its ETag. The page may read the asset again later. The save still sends the
  // older ETag, so that the platform rejects the save if another caller has changed the asset meanwhile.
  const [editing, setEditing] = useState<{ asset: Asset; etag: string | undefined }>()
  if (editing) return <DefinitionForm {...props} {...editing} onClose={() => setEditing(undefined)} />
  return (
    <Card
      title={texts.definition}
      actions={
        mayChange && (
          <Button size="small" icon="edit" onPress={() => setEditing({ asset, etag })}>
            {texts.edit}
          </Button>
        )
      }
    >
      <CodeView label={texts.definition} text={prettyJson(asset.definition)} />
    </Card>
  )
}

function DefinitionForm({ asset, etag, schemaText, readAgain, onClose }: DefinitionProps & { onClose(): void }) {
  const [stored, setStored] = useState(asset)
  const before = prettyJson(stored.definition)
  const draft = useJsonDraft(before)
  const schema = useMemo(() => (schemaText === undefined ? undefined : parseJson(schemaText).value), [schemaText])
  const [wrong, setWrong] = useState<string>()
  const change = useChange('assets.update')
  const toast = useToast()
  const { uiJsonSchema } = stored
  const args = {
    ...{ assetId: asset.id },
    body: { definition: draft.text, ...(uiJsonSchema !== undefined && { uiJsonSchema }) },
  }
  const versionsWith = (theirs: Asset) =>
    [parseJson(stored.definition).value, parseJson(theirs.definition).value, draft.value] as const
  const { save, dialog } = useConditionalSave<Asset>({
    etag,
    async save(ifMatch) {
      setWrong(draft.problem)
      return draft.problem === undefined ? (await change.run(args, { ifMatch })).kind : 'failed'
    },
    readAgain,
    compare: (theirs) => compareJson('definition', ...versionsWith(theirs)).slice(0, comparedMax),
    onMerge: (theirs) => {
      draft.setValue(mergeJson(...versionsWith(theirs)))
      setStored(theirs)
    },
    onTake: (theirs) => {
      draft.reset()
      setStored(theirs)
    },
    onDone: () => {
      toast(texts.saved)
      onClose()
    },
  })
  return (
    <Card title={texts.definition}>
      <form
        className="form"
        onSubmit={(event: FormEvent) => {
          event.preventDefault()
          void save()
        }}
      >
        <SchemaEditor
          label={texts.definition}
          name="definition"
          schema={schema}
          draft={draft}
          before={before}
          description={texts.definitionNote}
          violations={change.problem?.violations}
          problem={wrong}
        />
        {change.problem && <ErrorNote problem={change.problem} />}
        <div className="form-actions">
          <AsCommand operation="assets.update" args={args} />
          <CancelButton onPress={onClose} />
          <Button look="primary" type="submit" isBusy={change.isRunning}>
            {texts.save}
          </Button>
        </div>
      </form>
      {dialog}
    </Card>
  )
}

const comparedMax = 100

interface DeleteProps {
  asset: Asset
  etag: string | undefined
  relations: number
}

function DeleteAsset({ asset, etag, relations }: DeleteProps) {
  const [isOpen, setOpen] = useState(false)
  const change = useChange('assets.delete')
  const [, navigate] = useLocation()
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ assetId: asset.id }, { ifMatch: etag })
    if (outcome.kind !== 'done') return
    toast(texts.deleted)
    navigate('/assets')
  }
  return (
    <>
      <Menu
        entries={[{ id: 'delete', label: texts.delete, icon: 'trash', isDanger: true, onAction: () => setOpen(true) }]}
      />
      <ConfirmDelete
        objectName={texts.objectName(nameOf(asset).slice(0, 80))}
        also={[{ name: texts.also.relations, count: relations }]}
        isOpen={isOpen}
        isBusy={change.isRunning}
        problem={change.problem}
        onConfirm={() => void remove()}
        onClose={() => setOpen(false)}
      />
    </>
  )
}
