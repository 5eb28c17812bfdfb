/** Creates an asset: asks for its type, and for its definition in a form that is made from the schema of the type. */
import { type FormEvent, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { useChange, useList } from '../../api/query.ts'
import { text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { parseJson } from '../../parts/json-field.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { newValueOf } from '../../parts/schema/schema.ts'
import { SchemaEditor, useJsonDraft } from '../../parts/schema/schema-editor.tsx'
import { cut } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

export default function NewAssetPage() {
  const types = useList('assetTypes.list', { size: 100 })
  const address = useAddressState({ type: text() })
  const chosen = types.items.find(({ id }) => id === address.values.type) ?? types.items[0]
  if (types.isLoading) return <Loading label={texts.loading} />
  return (
    <>
      <PageHeader title={texts.create} above={[{ title: texts.title, to: '/assets' }]} lead={texts.newLead} />
      {types.problem && <ErrorNote problem={types.problem} onRetry={types.reload} />}
      {!chosen && !types.problem && (
        <EmptyState
          icon="tag"
          title={texts.typesEmptyTitle}
          actions={<LinkButton to="/assets/types/new">{texts.createType}</LinkButton>}
        >
          {texts.noTypes}
        </EmptyState>
      )}
      {chosen && (
        <Card>
          <div className="form">
            <SelectField
              label={texts.type}
              name="assetTypeId"
              value={chosen.id}
              onChange={(type) => address.set({ type })}
              options={types.items.map(({ id, displayName }) => ({ value: id, label: cut(displayName, 80).shown }))}
              isRequired
            />
            <AssetForm key={chosen.id} assetTypeId={chosen.id} schemaText={chosen.definitionJsonSchema} />
          </div>
        </Card>
      )}
    </>
  )
}

function AssetForm({ assetTypeId, schemaText }: { assetTypeId: string; schemaText: string }) {
  const schema = useMemo(() => parseJson(schemaText).value, [schemaText])
  const first = useMemo(() => JSON.stringify(newValueOf(schema, schema) ?? {}, null, 2), [schema])
  const draft = useJsonDraft(first)
  const [wrong, setWrong] = useState<string>()
  const create = useChange('assets.create')
  const [, navigate] = useLocation()
  const toast = useToast()
  const args = { body: { assetTypeId, definition: draft.text } }
  async function submit(event: FormEvent) {
    event.preventDefault()
    setWrong(draft.problem)
    if (draft.problem !== undefined) return
    const outcome = await create.run(args)
    if (outcome.kind !== 'done') return
    toast(texts.created)
    navigate(`/assets/${encodeURIComponent(outcome.body.id)}`)
  }
  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      <SchemaEditor
        label={texts.definition}
        name="definition"
        schema={schema}
        draft={draft}
        description={texts.definitionNote}
        violations={create.problem?.violations}
        problem={wrong}
      />
      {create.problem && <ErrorNote problem={create.problem} />}
      <div className="form-actions">
        <AsCommand operation="assets.create" args={args} />
        <LinkButton to="/assets">{texts.cancel}</LinkButton>
        <Button look="primary" type="submit" isBusy={create.isRunning}>
          {texts.submit}
        </Button>
      </div>
    </form>
  )
}
