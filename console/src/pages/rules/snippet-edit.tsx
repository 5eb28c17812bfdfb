/** Form that creates or changes a snippet. */
import type { BodyOf } from '../../api/operation-types.ts'
import { type GetResult, useChange, useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Loading } from '../../parts/card.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { JsonField } from '../../parts/json-field.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import type { PageProps } from '../page-props.ts'
import { libraryTexts as texts } from './library-texts.ts'

type Snippet = BodyOf<'snippets.get'>

const above = [{ title: texts.snippets, to: '/rules?tab=snippets' }]
const addressOf = (id: string) => `/rules/snippets/${encodeURIComponent(id)}`
const valuesOf = (snippet?: Snippet) => ({
  ...{ name: snippet?.name ?? '', description: snippet?.description ?? '', code: snippet?.code ?? '' },
})

export default function SnippetEditPage({ params: { snippetId } }: PageProps) {
  const snippet = useGet('snippets.get', { snippetId: snippetId ?? '' }, { enabled: snippetId !== undefined })
  if (snippet.isLoading) return <Loading label={texts.loading} />
  if (snippetId === undefined)
    return (
      <>
        <PageHeader title={texts.newSnippet} above={above} />
        <SnippetForm first={undefined} read={snippet} />
      </>
    )
  const name = snippet.data?.name ?? snippetId
  return (
    <>
      <PageHeader title={texts.editTitle(name)} above={[...above, { title: name, to: addressOf(snippetId) }]} />
      {snippet.data ? (
        <SnippetForm first={snippet.data} read={snippet} />
      ) : (
        snippet.problem && <ErrorNote problem={snippet.problem} onRetry={() => void snippet.reload()} />
      )}
    </>
  )
}

function SnippetForm({ first, read }: { first: Snippet | undefined; read: GetResult<Snippet> }) {
  const create = useChange('snippets.create')
  const update = useChange('snippets.update')
  const form = useForm(valuesOf(first), create.problem ?? update.problem)
  const { description, ...rest } = form.values
  const body = { ...rest, ...(description !== '' && { description }) }
  return (
    <EditForm
      form={form}
      read={read}
      save={(ifMatch) => (first ? update.run({ snippetId: first.id, body }, { ifMatch }) : create.run({ body }))}
      valuesOf={valuesOf}
      saved={first ? texts.snippetSaved : texts.snippetCreated}
      next={({ location }) => addressOf(first?.id ?? location?.split('/').at(-1) ?? '')}
      isBusy={create.isRunning || update.isRunning}
      submit={first ? texts.save : texts.create}
      cancel={first ? addressOf(first.id) : '/rules?tab=snippets'}
      command={
        first ? (
          <AsCommand operation="snippets.update" args={{ snippetId: first.id, body }} />
        ) : (
          <AsCommand operation="snippets.create" args={{ body }} />
        )
      }
    >
      <TextField label={texts.name} {...form.field('name')} isRequired autoFocus />
      <TextField label={texts.description} {...form.field('description')} lines={2} />
      <JsonField label={texts.code} {...form.field('code')} description={texts.codeNote} language="javascript" />
    </EditForm>
  )
}
