/** One asset: its definition to edit, its relations, the schema of its type, and deletion. */
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { BodyOf, ItemOf } from '../../api/operation-types.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { CodeView } from '../../parts/code-view.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { Difference } from '../../parts/difference.tsx'
import { JsonField, parseJson } from '../../parts/json-field.tsx'
import { Link } from '../../parts/link.tsx'
import { Menu } from '../../parts/menu.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../registry.ts'
import { nameOf, pretty } from './name.ts'
import { texts } from './texts.ts'

type Asset = BodyOf<'assets.get'>
type Relation = ItemOf<'assets.relations.list'>

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
        <Definition asset={data} etag={asset.etag} mayChange={may('asset:update', resource)} />
        <Card title={texts.about}>
          <Facts
            items={[
              [texts.facts.id, <Text key="id" value={data.id} mono />],
              [texts.facts.type, <Text key="type" value={type.data?.displayName ?? data.assetTypeId} />],
              [texts.facts.created, <Time key="created" value={data.createdAt} style="full" />],
              [texts.facts.updated, <Time key="updated" value={data.updatedAt} />],
            ]}
          />
        </Card>
        <Card title={texts.relations}>
          {relations.problem && <ErrorNote problem={relations.problem} onRetry={relations.reload} />}
          {relations.items.length === 0 ? <p className="quiet">{texts.noRelations}</p> : <Relations {...relations} />}
        </Card>
        {type.data && (
          <Card title={texts.schema}>
            <CodeView label={texts.schema} text={pretty(type.data.definitionJsonSchema)} />
          </Card>
        )}
      </div>
    </>
  )
}

const Relations = ({ items }: { items: Relation[] }) => (
  <div className="scroll-x">
    <table className="plain-table">
      <thead>
        <tr>
          <th scope="col">{texts.relationColumns.relation}</th>
          <th scope="col">{texts.relationColumns.other}</th>
        </tr>
      </thead>
      <tbody>
        {items.map(({ relationType, entityType, entityId }) => (
          <tr key={`${relationType} ${entityType} ${entityId}`}>
            <td>{texts.relationTypes[relationType]}</td>
            <td>
              <Link to={`/${entityType === 'ASSET' ? 'assets' : 'endpoints'}/${encodeURIComponent(entityId)}`}>
                <Text value={entityId} max={80} />
              </Link>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

function Definition({ asset, etag, mayChange }: { asset: Asset; etag: string | undefined; mayChange: boolean }) {
  const before = pretty(asset.definition)
  // The version that was read when editing began; later readings must not hide a change of another caller.
  const [draft, setDraft] = useState<{ text: string; etag: string | undefined }>()
  const [wrong, setWrong] = useState<string>()
  const [isConflict, setConflict] = useState(false)
  const change = useChange('assets.update')
  const toast = useToast()
  if (!draft)
    return (
      <Card
        title={texts.definition}
        actions={
          mayChange && (
            <Button size="small" icon="edit" onPress={() => setDraft({ text: before, etag })}>
              {texts.edit}
            </Button>
          )
        }
      >
        <CodeView label={texts.definition} text={before} />
      </Card>
    )
  const { uiJsonSchema } = asset
  const args = {
    ...{ assetId: asset.id },
    body: { definition: draft.text, ...(uiJsonSchema !== undefined && { uiJsonSchema }) },
  }
  async function submit(event: FormEvent) {
    event.preventDefault()
    const { problem } = parseJson(args.body.definition)
    setWrong(problem)
    if (problem) return
    const outcome = await change.run(args, { ifMatch: isConflict ? etag : draft?.etag })
    setConflict(outcome.kind === 'conflict')
    if (outcome.kind !== 'done') return
    setDraft(undefined)
    toast(texts.saved)
  }
  return (
    <Card title={texts.definition}>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <JsonField
          label={texts.definition}
          name="definition"
          value={draft.text}
          onChange={(text) => setDraft({ ...draft, text })}
          description={texts.definitionNote}
          problem={wrong}
        />
        <Difference label={texts.changes} before={before} after={draft.text} />
        {isConflict && <Note tone="warn">{texts.conflict}</Note>}
        {change.problem && <ErrorNote problem={change.problem} />}
        <div className="form-actions">
          <AsCommand operation="assets.update" args={args} />
          <Button onPress={() => setDraft(undefined)}>{texts.cancel}</Button>
          <Button look="primary" type="submit" isBusy={change.isRunning}>
            {texts.save}
          </Button>
        </div>
      </form>
    </Card>
  )
}

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
        what={texts.what(nameOf(asset).slice(0, 80))}
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
