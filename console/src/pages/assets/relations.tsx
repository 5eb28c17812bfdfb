/**
 * Relations of an asset, in both directions: the objects that it contains and manages, and the objects that contain and manage it. Users
 * add and remove relations in this part.
 */
import { useState } from 'react'
import type { ItemOf } from '../../api/operation-types.ts'
import { type ListResult, useChange, useList } from '../../api/query.ts'
import { Button, CancelButton, IconButton } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { Link } from '../../parts/link.tsx'
import { MultiSelect } from '../../parts/multi-select.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { Segments } from '../../parts/segments.tsx'
import { cut, Text } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { nameOf } from './name.ts'
import { texts } from './texts.ts'

type Relation = ItemOf<'assets.relations.list'>
type Kind = Relation['entityType']
type RelationType = Relation['relationType']

/**
 * Returns the body that links or unlinks two entities. It knows only `CONTAINS` and `MANAGES`, so for an inverse relation, such as
 * `IS_CONTAINED_BY`, the two entities are swapped.
 */
function relationOf(assetId: string, relationType: RelationType, entityType: Kind, entityId: string) {
  const own = { entityType: 'ASSET' as const, entityId: assetId }
  const other = { entityType, entityId }
  const isInverse = relationType === 'IS_CONTAINED_BY' || relationType === 'IS_MANAGED_BY'
  const type = relationType === 'CONTAINS' || relationType === 'IS_CONTAINED_BY' ? 'CONTAINS' : 'MANAGES'
  return { type, from: isInverse ? other : own, to: isInverse ? own : other }
}

const namedMax = 100

interface Props {
  assetId: string
  name: string
  relations: ListResult<Relation>
  mayChange: boolean
}

export function AssetRelations({ assetId, name, relations, mayChange }: Props) {
  const [isOpen, setOpen] = useState(false)
  const unlink = useChange('assets.relations.unlink')
  const toast = useToast()
  const assetIds = relations.items.filter(({ entityType }) => entityType === 'ASSET').map(({ entityId }) => entityId)
  const named = useList(
    'assets.list',
    { assetIds: assetIds.slice(0, namedMax), size: namedMax },
    { enabled: assetIds.length > 0 },
  )
  const nameOfEntity = ({ entityId }: Relation) => {
    const asset = named.items.find(({ id }) => id === entityId)
    return asset ? nameOf(asset) : entityId
  }
  async function remove({ relationType, entityType, entityId }: Relation) {
    const outcome = await unlink.run({ body: relationOf(assetId, relationType, entityType, entityId) })
    if (outcome.kind === 'done') toast(texts.unlinked)
  }
  return (
    <Card
      title={texts.relations}
      actions={
        mayChange && (
          <Button size="small" icon="link" onPress={() => setOpen(true)}>
            {texts.link}
          </Button>
        )
      }
    >
      {relations.problem && <ErrorNote problem={relations.problem} onRetry={relations.reload} />}
      {unlink.problem && <ErrorNote problem={unlink.problem} />}
      {relations.items.length === 0 ? (
        <p className="quiet">{texts.noRelations}</p>
      ) : (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.relationColumns.relation}</th>
                <th scope="col">{texts.relationColumns.other}</th>
                <td>
                  <span className="visually-hidden">{texts.actions}</span>
                </td>
              </tr>
            </thead>
            <tbody>
              {relations.items.map((relation) => (
                <tr key={`${relation.relationType} ${relation.entityType} ${relation.entityId}`}>
                  <td>{texts.relationTypes[relation.relationType]}</td>
                  <td>
                    <Link
                      to={`/${relation.entityType === 'ASSET' ? 'assets' : 'endpoints'}/${encodeURIComponent(relation.entityId)}`}
                    >
                      <Text value={nameOfEntity(relation)} max={80} />
                    </Link>
                  </td>
                  <td className="cell-actions">
                    {mayChange && (
                      <IconButton
                        icon="x"
                        label={texts.unlink(cut(nameOfEntity(relation), 60).shown)}
                        isDisabled={unlink.isRunning}
                        onPress={() => void remove(relation)}
                      />
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {isOpen && <LinkDialog assetId={assetId} name={name} onClose={() => setOpen(false)} />}
    </Card>
  )
}

const kinds: Kind[] = ['ASSET', 'ENDPOINT']
const relationTypes = Object.keys(texts.relationTypes) as RelationType[]
const foundMax = 50

function LinkDialog({ assetId, name, onClose }: { assetId: string; name: string; onClose(): void }) {
  const [relation, setRelation] = useState<RelationType>('CONTAINS')
  const [kind, setKind] = useState<Kind>('ASSET')
  const [q, setQ] = useState('')
  const [ids, setIds] = useState<string[]>([])
  const link = useChange('assets.relations.link')
  const toast = useToast()
  const search = q.trim() === '' ? {} : { search: q.trim() }
  const assets = useList('assets.list', { ...search, size: foundMax }, { enabled: kind === 'ASSET' })
  const endpoints = useList(
    'endpoints.directory.list',
    { ...search, limit: foundMax, include: 'metadata' },
    { enabled: kind === 'ENDPOINT' },
  )
  const options =
    kind === 'ASSET'
      ? assets.items.filter(({ id }) => id !== assetId).map((asset) => ({ value: asset.id, label: nameOf(asset) }))
      : endpoints.items.map(({ endpointId, metadata }) => {
          const metadataName = metadata?.name
          return {
            value: endpointId,
            label: typeof metadataName === 'string' ? `${metadataName} (${endpointId})` : endpointId,
          }
        })
  async function run() {
    const outcome = await link.run({ body: ids.map((id) => relationOf(assetId, relation, kind, id)) })
    if (outcome.kind !== 'done') return
    toast(texts.linked)
    onClose()
  }
  const problem = link.problem ?? assets.problem ?? endpoints.problem
  return (
    <Dialog
      title={texts.linkTitle(cut(name, 60).shown)}
      isOpen
      onClose={onClose}
      actions={
        <>
          <CancelButton onPress={onClose} />
          <Button look="primary" isBusy={link.isRunning} isDisabled={ids.length === 0} onPress={() => void run()}>
            {texts.link}
          </Button>
        </>
      }
    >
      <div className="stack">
        <SelectField
          label={texts.relation}
          name="type"
          value={relation}
          onChange={(value) => setRelation(relationTypes.find((known) => known === value) ?? 'CONTAINS')}
          options={relationTypes.map((value) => ({ value, label: texts.relationTypes[value] }))}
          isRequired
        />
        <Segments<Kind>
          label={texts.entities}
          value={kind}
          onChange={(next) => {
            setKind(next)
            setIds([])
          }}
          options={kinds.map((value) => ({ value, label: texts.kinds[value] }))}
        />
        <MultiSelect
          label={texts.kinds[kind]}
          summary={ids.length === 0 ? texts.choose : texts.chosen(ids.length)}
          options={options}
          values={ids}
          onChange={setIds}
          search={q}
          onSearch={setQ}
        />
        {problem && <ErrorNote problem={problem} />}
      </div>
    </Dialog>
  )
}
