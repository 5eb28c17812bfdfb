/** Second factors and API keys of a user. */
import { useState } from 'react'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Link } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type User = BodyOf<'users.get'>

export function SecondFactors({ user: { id, username } }: { user: User }) {
  const [isOpen, setOpen] = useState(false)
  const list = useList('users.secondFactors.list', { id })
  const change = useChange('users.secondFactors.delete', { staysOpen: true })
  const may = useMay()
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ id })
    if (outcome.kind !== 'done') return
    toast(texts.factorsRemoved)
    setOpen(false)
  }
  return (
    <Card
      title={texts.factors}
      flush={list.items.length > 0}
      actions={
        list.items.length > 0 &&
        may('identity:user:update') && (
          <Button size="small" icon="trash" onPress={() => setOpen(true)}>
            {texts.factorsRemove}
          </Button>
        )
      }
    >
      {list.isLoading && <Loading label={texts.factors} lines={2} />}
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {!list.isLoading && !list.problem && list.items.length === 0 && <p className="quiet">{texts.factorsEmpty}</p>}
      {list.items.length > 0 && (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.factorColumns.name}</th>
                <th scope="col">{texts.factorColumns.kind}</th>
                <th scope="col">{texts.factorColumns.added}</th>
                <th scope="col">{texts.factorColumns.used}</th>
              </tr>
            </thead>
            <tbody>
              {list.items.map((factor) => (
                <tr key={factor.id}>
                  <th scope="row">
                    <Text value={factor.name} max={60} />
                  </th>
                  <td>{texts.factorKinds[factor.kind]}</td>
                  <td>
                    <Time value={factor.createdAt} />
                  </td>
                  <td>{factor.lastUsedAt ? <Time value={factor.lastUsedAt} /> : texts.neverUsed}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Confirm
        title={texts.factorsTitle(username)}
        action={texts.factorsRemove}
        isDanger
        isOpen={isOpen}
        isBusy={change.isRunning}
        problem={change.problem}
        onConfirm={() => void remove()}
        onClose={() => setOpen(false)}
      >
        {texts.factorsText}
      </Confirm>
    </Card>
  )
}

export function ApiKeysOfUser({ userId }: { userId: string }) {
  const list = useList('apiKeys.list', { limit: 0 })
  const items = list.items.filter(({ owner }) => owner.type === 'user' && owner.id === userId)
  return (
    <Card title={texts.keys} flush={items.length > 0}>
      {list.isLoading && <Loading label={texts.keys} lines={2} />}
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {!list.isLoading && !list.problem && items.length === 0 && <p className="quiet">{texts.keysEmpty}</p>}
      {items.length > 0 && (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.keysColumns.name}</th>
                <th scope="col">{texts.keysColumns.used}</th>
                <th scope="col">{texts.keysColumns.expires}</th>
              </tr>
            </thead>
            <tbody>
              {items.map((key) => (
                <tr key={key.id}>
                  <th scope="row">
                    <Link to={`/api-keys?q=${encodeURIComponent(key.name)}`}>
                      <Text value={key.name} max={60} />
                    </Link>
                  </th>
                  <td>{key.lastUsedAt ? <Time value={key.lastUsedAt} /> : texts.never}</td>
                  <td>{key.expiresAt ? <Time value={key.expiresAt} /> : texts.never}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}
