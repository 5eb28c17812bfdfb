/** Triggers and actions of a rule. They are independent objects, so unlinking a trigger or action does not delete it. */
import { useState } from 'react'
import type { BodyOf, ItemOf } from '../../api/operation-types.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { cut, Text } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { EditLink } from './edit-link.tsx'
import { kindTexts as texts } from './kind-texts.ts'
import { type ActionType, actionTypes, segmentOf, type TriggerType, triggerTypes } from './kinds.ts'
import { NewLink } from './new-link.tsx'

export type Trigger = ItemOf<'rules.triggers.list'>
export type ActionsOfRule = BodyOf<'rules.actions.list'>
type Action = ActionsOfRule['positiveActions'][number]

interface Props {
  ruleId: string
  mayChange: boolean
}

const idsOf = (items: { id: string; type: string }[], type: string) =>
  items.filter((item) => segmentOf(item.type) === type).map(({ id }) => id)

export function Triggers({ ruleId, mayChange }: Props) {
  const list = useList('rules.triggers.list', { ruleId })
  const change = useChange('rules.triggers.update')
  const toast = useToast()
  const [isAdding, setAdding] = useState(false)
  const save = (triggerType: string, ids: string[]) => change.run({ ruleId, triggerType, body: ids })
  async function unlink({ id, type }: Trigger) {
    const segment = segmentOf(type)
    const rest = idsOf(list.items, segment).filter((other) => other !== id)
    if ((await save(segment, rest)).kind === 'done') toast(texts.unlinked)
  }
  return (
    <Card
      title={texts.triggers}
      actions={
        mayChange && (
          <Button size="small" icon="plus" onPress={() => setAdding(true)}>
            {texts.add.trigger}
          </Button>
        )
      }
    >
      {change.problem && <ErrorNote problem={change.problem} />}
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {list.isLoading && <Loading label={texts.loading} lines={2} />}
      {!list.isLoading && !list.problem && list.items.length === 0 && <p className="quiet">{texts.noTriggers}</p>}
      <LinkList kind="trigger" items={list.items} mayChange={mayChange} onUnlink={(trigger) => void unlink(trigger)} />
      {isAdding && (
        <NewLink
          kind="trigger"
          linked={list.items.map(({ id }) => id)}
          onLink={async (type, ids) => {
            const outcome = await save(type, [...new Set([...idsOf(list.items, type), ...ids])])
            if (outcome.kind === 'done') toast(texts.linked)
            return outcome.kind === 'failed' ? outcome.problem : undefined
          }}
          onClose={() => setAdding(false)}
        />
      )}
    </Card>
  )
}

const none: ActionsOfRule = { positiveActions: [], negativeActions: [] }

export function Actions({ ruleId, mayChange }: Props) {
  const read = useGet('rules.actions.list', { ruleId })
  const { positiveActions, negativeActions } = read.data ?? none
  const change = useChange('rules.actions.update')
  const toast = useToast()
  const [isAdding, setAdding] = useState(false)
  const save = (actionType: string, positive: string[], negative: string[]) =>
    change.run({ ruleId, actionType, body: { positiveActionIds: positive, negativeActionIds: negative } })
  async function unlink({ id, type }: Action, isPositive: boolean) {
    const segment = segmentOf(type)
    const remainingIds = (items: Action[], isSide: boolean) =>
      idsOf(items, segment).filter((other) => !isSide || other !== id)
    const outcome = await save(
      segment,
      remainingIds(positiveActions, isPositive),
      remainingIds(negativeActions, !isPositive),
    )
    if (outcome.kind === 'done') toast(texts.unlinked)
  }
  const sides = [
    [true, texts.positive, texts.positiveNote, positiveActions],
    [false, texts.negative, texts.negativeNote, negativeActions],
  ] as const
  return (
    <Card
      title={texts.actions}
      actions={
        mayChange && (
          <Button size="small" icon="plus" onPress={() => setAdding(true)}>
            {texts.add.action}
          </Button>
        )
      }
    >
      {change.problem && <ErrorNote problem={change.problem} />}
      {read.problem && <ErrorNote problem={read.problem} onRetry={() => void read.reload()} />}
      {read.isLoading && <Loading label={texts.loading} lines={2} />}
      {read.data &&
        sides.map(([isPositive, title, note, items]) => (
          <section key={title}>
            <h3>{title}</h3>
            <p className="quiet">{note}</p>
            {items.length === 0 ? (
              <p>{texts.noActions}</p>
            ) : (
              <LinkList
                kind="action"
                items={items}
                mayChange={mayChange}
                onUnlink={(action) => void unlink(action, isPositive)}
              />
            )}
          </section>
        ))}
      {isAdding && (
        <NewLink
          kind="action"
          linked={[]}
          onLink={async (type, ids, isPositive) => {
            const joined = (items: Action[], isSide: boolean) => [
              ...new Set([...idsOf(items, type), ...(isSide ? ids : [])]),
            ]
            const outcome = await save(type, joined(positiveActions, isPositive), joined(negativeActions, !isPositive))
            if (outcome.kind === 'done') toast(texts.linked)
            return outcome.kind === 'failed' ? outcome.problem : undefined
          }}
          onClose={() => setAdding(false)}
        />
      )}
    </Card>
  )
}

interface LinkListProps<T> {
  kind: 'trigger' | 'action'
  items: T[]
  mayChange: boolean
  onUnlink(item: T): void
}

function LinkList<T extends { id: string; type: string; name: string }>({
  kind,
  items,
  mayChange,
  onUnlink,
}: LinkListProps<T>) {
  const [edited, setEdited] = useState<T>()
  const types: readonly (TriggerType | ActionType)[] = kind === 'trigger' ? triggerTypes : actionTypes
  const typeOf = (item: T) => types.find((type) => type === segmentOf(item.type))
  const editedType = edited && typeOf(edited)
  return (
    <>
      <ul className="rule-links">
        {items.map((item) => (
          <li key={item.id}>
            <span>
              <strong>
                <Text value={item.name} max={80} />
              </strong>
              <small>{texts.types[segmentOf(item.type)] ?? <Text value={item.type} />}</small>
            </span>
            {mayChange && (
              <span className="rule-link-actions">
                {typeOf(item) && (
                  <IconButton
                    icon="edit"
                    label={texts.edit(cut(item.name, 80).shown)}
                    onPress={() => setEdited(item)}
                  />
                )}
                <IconButton icon="unplug" label={texts.unlink(item.name.slice(0, 80))} onPress={() => onUnlink(item)} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {edited && editedType && (
        <EditLink kind={kind} type={editedType} id={edited.id} onClose={() => setEdited(undefined)} />
      )}
    </>
  )
}
