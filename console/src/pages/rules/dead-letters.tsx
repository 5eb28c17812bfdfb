/** Lists dead letters: events for which a rule could not run, with the reason. Users can retry and delete dead letters. */
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { Link } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { traceTexts as texts } from './trace-texts.ts'

type Letter = ItemOf<'rules.deadLetters.list'>

const columns: Column<Letter>[] = [
  {
    ...{ id: 'time', title: texts.letterColumns.time, width: '10rem' },
    cell: ({ createdAt }) => <Time value={createdAt} />,
  },
  {
    ...{ id: 'rule', title: texts.letterColumns.rule },
    cell: ({ ruleId }) => (
      <Link to={`/rules/${encodeURIComponent(ruleId)}`}>
        <Text value={ruleId} max={40} mono />
      </Link>
    ),
  },
  {
    ...{ id: 'endpoint', title: texts.letterColumns.endpoint },
    cell: ({ endpointId }) =>
      endpointId === undefined ? (
        <Text value={undefined} />
      ) : (
        <Link to={`/endpoints/${encodeURIComponent(endpointId)}`}>
          <Text value={endpointId} max={60} />
        </Link>
      ),
  },
  {
    ...{ id: 'reason', title: texts.letterColumns.reason, width: 'minmax(12rem, 3fr)' },
    cell: ({ reason }) => <Text value={reason} max={200} />,
  },
]

export function DeadLetters() {
  const list = useList('rules.deadLetters.list', { size: 100 })
  const retry = useChange('rules.deadLetters.retry')
  const remove = useChange('rules.deadLetters.delete')
  const may = useMay()
  const toast = useToast()
  const actions: Column<Letter> = {
    ...{ id: 'actions', title: texts.letterColumns.actions, width: '9rem' },
    cell: ({ id, ruleId }) => (
      <>
        {may('rule:execute', `rule-${ruleId}`) && (
          <Button size="small" icon="refresh" onPress={() => void retryOne(id)}>
            {texts.retryLetter}
          </Button>
        )}
        {may('rule:delete', `rule-${ruleId}`) && (
          <IconButton icon="trash" label={texts.deleteLetter(id)} onPress={() => void removeOne(id)} />
        )}
      </>
    ),
  }
  async function retryOne(deadLetterId: string) {
    if ((await retry.run({ deadLetterId })).kind === 'done') toast(texts.retried)
  }
  async function removeOne(deadLetterId: string) {
    if ((await remove.run({ deadLetterId })).kind === 'done') toast(texts.deleted)
  }
  const problem = retry.problem ?? remove.problem
  return (
    <>
      <p className="quiet">{texts.lettersLead}</p>
      {problem && <ErrorNote problem={problem} />}
      <DataTable
        label={texts.letterColumns.rule}
        list={list}
        columns={[...columns, actions]}
        rowId={({ id }) => id}
        empty={
          <EmptyState icon="check" title={texts.lettersEmptyTitle}>
            {texts.lettersEmptyText}
          </EmptyState>
        }
      />
    </>
  )
}
