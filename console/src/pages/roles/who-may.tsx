/** Lists the users, clients and keys that have a scope on a resource, with the role or grant that gives it. */
import { type FormEvent, useState } from 'react'
import { useList } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { Link } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { Reasons } from '../../parts/reasons.tsx'
import { Text } from '../../parts/text.tsx'
import type { RolesAddress } from './address.ts'
import { texts } from './texts.ts'

export function WhoMay({ address }: { address: RolesAddress }) {
  const { scope, resource } = address.values
  const catalogue = useList('scopes.list', {})
  const [typed, setTyped] = useState(resource || 'tenant-system')
  const resourceName = resource || 'tenant-system'
  const list = useList('access.list', { scope, resource: resourceName }, { enabled: scope !== '' })
  const ask = (event: FormEvent) => {
    event.preventDefault()
    address.set({ resource: typed === 'tenant-system' ? '' : typed })
  }
  const isBadResource = list.problem?.status === 400
  return (
    <div className="stack">
      <Card title={texts.whoTitle}>
        <form className="form form-line" onSubmit={ask}>
          <SelectField
            label={texts.scope}
            name="scope"
            value={scope}
            onChange={(scope) => address.set({ scope })}
            options={catalogue.items.map(({ scope, sentence }) => ({
              value: scope,
              label: scope,
              description: sentence,
            }))}
            description={texts.scopeNote}
            isRequired
          />
          <span />
          <TextField
            label={texts.resource}
            name="resource"
            value={typed}
            onChange={setTyped}
            description={texts.whoResourceNote}
            problem={isBadResource ? list.problem?.message : undefined}
            isRequired
            mono
          />
          <Button type="submit" icon="search">
            {texts.ask}
          </Button>
        </form>
      </Card>
      {list.problem && !isBadResource && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {list.isLoading && <Loading label={texts.whoTitle} />}
      {scope === '' ? (
        <EmptyState icon="shield" title={texts.whoStartTitle}>
          {texts.whoStartText}
        </EmptyState>
      ) : (
        !list.isLoading && !list.problem && <Holders list={list} scope={scope} />
      )}
    </div>
  )
}

type HolderList = ReturnType<typeof useList<'access.list'>>

function Holders({ list, scope }: { list: HolderList; scope: string }) {
  if (list.items.length === 0)
    return (
      <EmptyState icon="user" title={texts.whoEmptyTitle}>
        {texts.whoEmptyText}
      </EmptyState>
    )
  return (
    <Card title={texts.holders(list.total ?? list.items.length)} flush>
      <div className="scroll-x">
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">{texts.holderColumns.who}</th>
              <th scope="col">{texts.holderColumns.kind}</th>
              <th scope="col">{texts.holderColumns.why}</th>
            </tr>
          </thead>
          <tbody>
            {list.items.map(({ subject, name, owner, reasons }) => (
              <tr key={`${subject.type}/${subject.id}`}>
                <th scope="row">
                  {subject.type === 'user' ? (
                    <Link to={`/users/${encodeURIComponent(subject.id)}?tab=access`}>
                      <Text value={name} max={60} />
                    </Link>
                  ) : (
                    <Text value={name} max={60} />
                  )}
                </th>
                <td>
                  {texts.subjectTypes[subject.type] ?? subject.type}
                  {owner && (
                    <span className="quiet">
                      {' '}
                      · {texts.keyOf} {texts.subjectTypes[owner.type] ?? owner.type}
                    </span>
                  )}
                </td>
                <td>
                  <Reasons reasons={reasons} scope={scope} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {list.hasMore && (
        <div className="card-tools">
          <Button onPress={list.loadMore} isBusy={list.isLoadingMore}>
            {texts.holders((list.total ?? 0) - list.items.length)}
          </Button>
        </div>
      )}
    </Card>
  )
}
