/**
 * Lists the runs of rules and actions, each with its result or the reason of its failure. `entityId` limits the list to the runs of one
 * rule.
 */
import { useState } from 'react'
import type { ArgumentsOf, ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import type { AddressState } from '../../parts/address-state.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Loading } from '../../parts/card.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { JsonView } from '../../parts/json-view.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { kindTexts } from './kind-texts.ts'
import { segmentOf } from './kinds.ts'
import { texts as ruleTexts } from './texts.ts'
import { traceTexts as texts } from './trace-texts.ts'

export type Trace = ItemOf<'rules.traces.list'>

export const outcomes = ['', 'SUCCESS', 'FAILURE'] as const
const refreshMs = 10_000
const namesMax = 500

export const Outcome = ({ outcome }: { outcome: string }) => (
  <Badge tone={outcome === 'SUCCESS' ? 'good' : 'bad'}>{texts.outcomes[outcome] ?? <Text value={outcome} />}</Badge>
)

const kindOf = (entityType: string) => kindTexts.types[segmentOf(entityType)] ?? entityType

/** Shows the reason of a failure, or the value that the rule returned. */
export function Why({ trace: { stage, reason, metadata } }: { trace: Trace }) {
  if (reason !== undefined || stage !== undefined)
    return (
      <>
        {stage !== undefined && <>{texts.stages[stage] ?? <Text value={stage} />}. </>}
        <Text value={reason} max={200} />
      </>
    )
  if (metadata.returnedValue === undefined) return <Text value={undefined} />
  return <Text value={texts.returned(String(metadata.returnedValue))} max={120} />
}

export const Took = ({ trace: { metadata } }: { trace: Trace }) =>
  typeof metadata.durationMs === 'number' ? ruleTexts.milliseconds(metadata.durationMs) : null

const RaisedOn = ({ trace: { raisedOnEntityType, raisedOnEntityId } }: { trace: Trace }) =>
  raisedOnEntityType === 'ENDPOINT' ? (
    <Link to={`/endpoints/${encodeURIComponent(raisedOnEntityId)}`}>
      <Text value={raisedOnEntityId} max={60} />
    </Link>
  ) : (
    texts.onDemand
  )

/** Returns the id of the rule that ran, or of the rule whose action ran. */
const ruleOf = ({ entityType, entityId, metadata }: Trace): string | undefined =>
  entityType === 'RULE' ? entityId : typeof metadata.ruleId === 'string' ? metadata.ruleId : undefined

/** Returns the names of rules by id: rules that users wrote, and rules of alert settings. */
function useRuleNames(enabled: boolean): Map<string, string> {
  const own = useList('rules.list', { size: namesMax }, { enabled })
  const ofSettings = useList('rules.list', { include: 'ATTACHED_TO_ALERT_SETTING', size: namesMax }, { enabled })
  return new Map([...own.items, ...ofSettings.items].map(({ id, name }) => [id, name]))
}

function RuleName({ trace, names }: { trace: Trace; names: Map<string, string> }) {
  const id = ruleOf(trace)
  if (id === undefined) return <Text value={undefined} />
  return (
    <Link to={`/rules/${encodeURIComponent(id)}`}>
      <Text value={names.get(id) ?? id} max={60} />
    </Link>
  )
}

const ruleColumn = (names: Map<string, string>): Column<Trace> => ({
  ...{ id: 'rule', title: texts.columns.rule, width: 'minmax(8rem, 1fr)' },
  cell: (trace) => <RuleName trace={trace} names={names} />,
})

const columnsOf = (onOpen: (trace: Trace) => void, names: Map<string, string> | undefined): Column<Trace>[] => [
  {
    ...{ id: 'time', title: texts.columns.time, width: '8.5rem' },
    cell: ({ createdAt }) => <Time value={createdAt} style="clock" />,
  },
  ...(names ? [ruleColumn(names)] : []),
  {
    ...{ id: 'what', title: texts.columns.what, width: 'minmax(9.5rem, 0.7fr)' },
    cell: (trace) => (
      <Button look="quiet" size="small" onPress={() => onOpen(trace)}>
        <Text value={kindOf(trace.entityType)} max={60} />
      </Button>
    ),
  },
  {
    ...{ id: 'outcome', title: texts.columns.outcome, width: '8rem' },
    cell: ({ outcome }) => <Outcome outcome={outcome} />,
  },
  {
    ...{ id: 'for', title: texts.columns.raisedOn, width: 'minmax(7rem, 0.8fr)' },
    cell: (trace) => <RaisedOn trace={trace} />,
  },
  {
    ...{ id: 'why', title: texts.columns.why, width: 'minmax(11rem, 3fr)' },
    cell: (trace) => <Why trace={trace} />,
  },
  {
    ...{ id: 'took', title: texts.columns.took, width: '6rem', align: 'end' },
    cell: (trace) => <Took trace={trace} />,
  },
]

export interface TracesProps {
  address: AddressState<{ outcome: (typeof outcomes)[number]; endpoint: string }>
  entityId?: string
}

export function Traces({ address, entityId }: TracesProps) {
  const { outcome, endpoint } = address.values
  const [opened, setOpened] = useState<Trace>()
  const args: ArgumentsOf<'rules.traces.list'> = {
    ...(entityId !== undefined && { entityId }),
    ...(outcome !== '' && { outcome }),
    ...(endpoint.trim() !== '' && { raisedOnEntityType: 'ENDPOINT', raisedOnEntityId: endpoint.trim() }),
    size: 100,
  }
  const list = useList('rules.traces.list', args, { refreshMs })
  const names = useRuleNames(entityId === undefined)
  const isFiltered = outcome !== '' || endpoint.trim() !== ''
  return (
    <>
      <FilterBar address={{ ...address, isChanged: isFiltered }}>
        <SearchBox label={texts.search} value={endpoint} onChange={(endpoint) => address.set({ endpoint })} />
        <SelectField
          label={texts.outcome}
          value={outcome === '' ? '*' : outcome}
          onChange={(value) => address.set({ outcome: outcomes.find((known) => known === value) ?? '' })}
          options={[
            { value: '*', label: texts.anyOutcome },
            ...Object.entries(texts.outcomes).map(([value, label]) => ({ value, label })),
          ]}
          isCompact
        />
      </FilterBar>
      <DataTable
        label={texts.label}
        list={list}
        columns={columnsOf((trace) => setOpened(trace), entityId === undefined ? names : undefined)}
        rowId={({ id }) => id}
        rowName={({ entityType, createdAt }) => `${kindOf(entityType)} ${createdAt}`}
        onOpen={(trace) => setOpened(trace)}
        empty={
          isFiltered ? (
            <EmptyState
              icon="search"
              title={texts.noMatchTitle}
              actions={<Button onPress={() => address.set({ outcome: '', endpoint: '' })}>{texts.clear}</Button>}
            >
              {texts.noMatchText}
            </EmptyState>
          ) : (
            <EmptyState icon="activity" title={texts.emptyTitle}>
              {texts.emptyText}
            </EmptyState>
          )
        }
      />
      {opened && <Chain trace={opened} onClose={() => setOpened(undefined)} />}
    </>
  )
}

/** Shows all runs that one event has caused. */
function Chain({ trace, onClose }: { trace: Trace; onClose(): void }) {
  const chain = useList('rules.traces.list', { traceId: trace.traceId, size: 100 })
  const inOrder = [...chain.items].reverse()
  const ruleId = inOrder.find(({ entityType }) => entityType === 'RULE')?.entityId
  return (
    <Dialog
      title={texts.chain}
      isOpen
      onClose={onClose}
      size="wide"
      actions={
        <>
          {ruleId !== undefined && (
            <LinkButton to={`/rules/${encodeURIComponent(ruleId)}?tab=try&trace=${encodeURIComponent(trace.traceId)}`}>
              {texts.retry}
            </LinkButton>
          )}
          <Button look="primary" onPress={onClose}>
            {texts.close}
          </Button>
        </>
      }
    >
      <p>{texts.chainNote}</p>
      {chain.isLoading && <Loading label={texts.loading} />}
      {chain.problem && <ErrorNote problem={chain.problem} onRetry={chain.reload} />}
      <TraceTable traces={inOrder} />
      <JsonView label={texts.details} value={trace} />
    </Dialog>
  )
}

/** Shows a few traces (records of runs) in the given order. */
export const TraceTable = ({ traces }: { traces: Trace[] }) => (
  <div className="scroll-x">
    <table className="plain-table">
      <thead>
        <tr>
          <th scope="col">{texts.columns.what}</th>
          <th scope="col">{texts.columns.outcome}</th>
          <th scope="col">{texts.columns.why}</th>
          <th scope="col">{texts.columns.took}</th>
        </tr>
      </thead>
      <tbody>
        {traces.map((trace) => (
          <tr key={trace.id}>
            <th scope="row">
              <Text value={kindOf(trace.entityType)} max={60} />
            </th>
            <td>
              <Outcome outcome={trace.outcome} />
            </td>
            <td>
              <Why trace={trace} />
            </td>
            <td>
              <Took trace={trace} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
