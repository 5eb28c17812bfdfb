/** Shows the permissions of a user on a resource, with the role or grant that gives each permission. */
import { type FormEvent, useState } from 'react'
import type { BodyOf } from '../../api/operation-types.ts'
import { useGet, useList } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { TextField } from '../../parts/fields.tsx'
import { SearchBox } from '../../parts/filter-bar.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { Reasons } from '../../parts/reasons.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { texts } from './texts.ts'

type User = BodyOf<'users.get'>

interface AccessProps {
  user: User
  resource: string
  q: string
  onResource(resource: string): void
  onSearch(q: string): void
}

export function Access({ user, resource, q, onResource, onSearch }: AccessProps) {
  const [typed, setTyped] = useState(resource)
  const access = useGet('users.access.get', { id: user.id, resource: resource || 'tenant-system' })
  const scopes = useList('scopes.list', {})
  const sentences = new Map(scopes.items.map(({ scope, sentence }) => [scope, sentence]))
  const found = access.data?.content ?? []
  const shown = found.filter(({ scope }) =>
    `${scope} ${sentences.get(scope) ?? ''}`.toLowerCase().includes(q.toLowerCase()),
  )
  const ask = (event: FormEvent) => {
    event.preventDefault()
    onResource(typed)
  }
  return (
    <div className="stack">
      <Card title={texts.accessTitle(user.username.slice(0, 60))}>
        <form className="form form-line" onSubmit={ask}>
          <TextField
            label={texts.resource}
            name="resource"
            value={typed}
            onChange={setTyped}
            description={texts.resourceNote}
            problem={access.problem?.status === 400 ? access.problem.message : undefined}
            isRequired
            mono
          />
          <Button type="submit" icon="search">
            {texts.ask}
          </Button>
        </form>
      </Card>
      {access.data && !access.data.enabled && <Note tone="warn">{texts.accessDisabled}</Note>}
      {access.problem && access.problem.status !== 400 && (
        <ErrorNote problem={access.problem} onRetry={() => void access.reload()} />
      )}
      {access.isLoading && <Loading label={texts.loading} />}
      {access.data && (
        <Card title={texts.accessCount(found.length)} flush={found.length > 0}>
          {found.length === 0 ? (
            <p className="quiet">{texts.accessEmpty}</p>
          ) : (
            <>
              <div className="card-tools">
                <SearchBox label={texts.accessSearch} value={q} onChange={onSearch} />
              </div>
              <div className="scroll-x">
                <table className="plain-table">
                  <thead>
                    <tr>
                      <th scope="col">{texts.accessColumns.scope}</th>
                      <th scope="col">{texts.accessColumns.why}</th>
                    </tr>
                  </thead>
                  <tbody>
                    {shown.map(({ scope, reasons }) => (
                      <tr key={scope}>
                        <th scope="row">
                          {sentences.get(scope) && (
                            <div>
                              <Text value={sentences.get(scope)} max={160} />
                            </div>
                          )}
                          <span className="quiet">
                            <Text value={scope} max={80} mono />
                          </span>
                        </th>
                        <td>
                          <Reasons reasons={reasons} scope={scope} />
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </>
          )}
        </Card>
      )}
      <GrantsToUser userId={user.id} />
    </div>
  )
}

function GrantsToUser({ userId }: { userId: string }) {
  const list = useList('grants.list', { subjectType: 'user', subjectId: userId })
  if (list.isLoading) return <Loading label={texts.grants} lines={2} />
  return (
    <Card title={texts.grants} flush={list.items.length > 0}>
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {!list.problem && list.items.length === 0 && <p className="quiet">{texts.grantsEmpty}</p>}
      {list.items.length > 0 && (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.grantColumns.resource}</th>
                <th scope="col">{texts.grantColumns.scopes}</th>
                <th scope="col">{texts.grantColumns.created}</th>
              </tr>
            </thead>
            <tbody>
              {list.items.map((grant) => (
                <tr key={grant.id}>
                  <th scope="row">
                    <Text value={grant.resource} max={80} mono />
                  </th>
                  <td>
                    <Text value={grant.scopes.join(', ')} max={160} mono />
                  </td>
                  <td>
                    <Time value={grant.createdAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}
