/** One snippet, with its text, which users copy. */
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { CodeView } from '../../parts/code-view.tsx'
import { DeleteMenu } from '../../parts/delete-menu.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { cut, Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { libraryTexts as texts } from './library-texts.ts'

type Snippet = BodyOf<'snippets.get'>
const above = [{ title: texts.snippets, to: '/rules?tab=snippets' }]

export default function SnippetPage({ params }: PageProps) {
  const snippetId = params.snippetId!
  const snippet = useGet('snippets.get', { snippetId })
  const may = useMay()
  const { data } = snippet
  if (snippet.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return (
      <>
        <PageHeader title={snippetId} above={above} />
        {snippet.problem && <ErrorNote problem={snippet.problem} onRetry={() => void snippet.reload()} />}
      </>
    )
  const resource = `snippet-${snippetId}`
  return (
    <>
      <PageHeader
        title={data.name}
        above={above}
        actions={
          <>
            <AsCommand operation="snippets.get" args={{ snippetId }} />
            {may('snippet:update', resource) && (
              <LinkButton to={`/rules/snippets/${encodeURIComponent(snippetId)}/edit`} icon="edit">
                {texts.edit}
              </LinkButton>
            )}
            {may('snippet:delete', resource) && <DeleteSnippet snippet={data} etag={snippet.etag} />}
          </>
        }
      />
      <div className="columns">
        <Card title={texts.code}>
          <CodeView label={texts.code} text={data.code} />
        </Card>
        <Card title={texts.about}>
          <Facts
            items={[
              [texts.facts.id, <Text key="id" value={data.id} mono />],
              [texts.facts.description, <Text key="description" value={data.description} max={1000} />],
              [texts.facts.created, <Time key="created" value={data.createdAt} style="full" />],
              [texts.facts.updated, <Time key="updated" value={data.updatedAt} />],
            ]}
          />
        </Card>
      </div>
    </>
  )
}

function DeleteSnippet({ snippet: { id, name }, etag }: { snippet: Snippet; etag: string | undefined }) {
  const change = useChange('snippets.delete')
  const [, navigate] = useLocation()
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ snippetId: id }, { ifMatch: etag })
    if (outcome.kind === 'conflict') toast(texts.changedMeanwhile, 'bad')
    if (outcome.kind !== 'done') return
    toast(texts.snippetDeleted)
    navigate('/rules?tab=snippets')
  }
  return (
    <DeleteMenu
      objectName={texts.snippetObjectName(cut(name, 80).shown)}
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void remove()}
    />
  )
}
