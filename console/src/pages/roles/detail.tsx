/** One role: descriptions of its scopes, the users who have it, and its grants. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { Menu } from '../../parts/menu.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { texts } from './texts.ts'

type Role = BodyOf<'roles.get'>

export default function RolePage({ params }: PageProps) {
  const name = params.name!
  const role = useGet('roles.get', { name })
  const may = useMay()
  const above = [{ title: texts.title, to: '/roles' }]
  const { data } = role
  if (role.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return (
      <>
        <PageHeader title={name} above={above} />
        {role.problem && <ErrorNote problem={role.problem} onRetry={() => void role.reload()} />}
      </>
    )
  return (
    <>
      <PageHeader
        title={data.name}
        above={above}
        lead={<Text value={data.description} max={300} />}
        actions={
          <>
            <AsCommand operation="roles.get" args={{ name }} />
            {!data.builtIn && may('identity:role:update') && (
              <LinkButton to={`/roles/${encodeURIComponent(name)}/edit`} icon="edit">
                {texts.edit}
              </LinkButton>
            )}
            {!data.builtIn && may('identity:role:delete') && <DeleteRole role={data} />}
          </>
        }
      />
      {data.builtIn && (
        <Note
          action={
            may('identity:role:create') && (
              <LinkButton to={`/roles/new?from=${encodeURIComponent(name)}`} icon="copy">
                {texts.copy}
              </LinkButton>
            )
          }
        >
          {texts.isBuiltIn}
        </Note>
      )}
      <div className="columns">
        <div className="stack">
          <Card title={texts.about}>
            <Facts
              items={[
                [texts.facts.name, <Text key="name" value={data.name} />],
                [texts.facts.description, <Text key="description" value={data.description} max={1000} />],
                [
                  texts.facts.kind,
                  <Badge key="kind" tone={data.builtIn ? 'quiet' : 'info'}>
                    {data.builtIn ? texts.builtIn : texts.own}
                  </Badge>,
                ],
                [texts.facts.scopes, texts.scopesOf(data.scopes)],
              ]}
            />
          </Card>
          {may('identity:user:read') && <UsersWithRole name={name} />}
          {may('identity:grant:read') && <GrantsToRole name={name} />}
        </div>
        <Permits role={data} />
      </div>
    </>
  )
}

function Permits({ role }: { role: Role }) {
  const catalogue = useList('scopes.list', {})
  const known = new Map(catalogue.items.map((scope) => [scope.scope, scope]))
  const isEverything = role.scopes.includes('*')
  return (
    <Card title={texts.mayTitle} flush={!isEverything && role.scopes.length > 0}>
      {isEverything && <p>{texts.allScopes}</p>}
      {role.scopes.length === 0 && <p className="quiet">{texts.scopesEmpty}</p>}
      {!isEverything && role.scopes.length > 0 && (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.mayColumns.scope}</th>
                <th scope="col">{texts.mayColumns.level}</th>
              </tr>
            </thead>
            <tbody>
              {role.scopes.map((scope) => (
                <tr key={scope}>
                  <th scope="row">
                    {known.has(scope) && (
                      <div>
                        <Text value={known.get(scope)!.sentence} max={160} />
                      </div>
                    )}
                    <span className="quiet">
                      <Text value={scope} max={80} mono />
                    </span>
                  </th>
                  <td>{known.has(scope) && texts.levels[known.get(scope)!.level]}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}

const namesMax = 50

/** Returns the users with a role. The API cannot list users by role, so all users are read. */
function useUsersWithRole(name: string, enabled = true) {
  const list = useList('users.list', { limit: 0 }, { enabled })
  return { ...list, items: list.items.filter(({ roles }) => roles.includes(name)) }
}

function UsersWithRole({ name }: { name: string }) {
  const { items, isLoading, problem, reload } = useUsersWithRole(name)
  return (
    <Card title={texts.usersWith}>
      {isLoading && <Loading label={texts.usersWith} lines={2} />}
      {problem && <ErrorNote problem={problem} onRetry={reload} />}
      {!isLoading && !problem && items.length === 0 && <p className="quiet">{texts.usersEmpty}</p>}
      {items.length > 0 && (
        <ul className="chips">
          {items.slice(0, namesMax).map(({ id, username }) => (
            <li key={id}>
              <Link to={`/users/${encodeURIComponent(id)}`}>
                <Text value={username} max={60} />
              </Link>
            </li>
          ))}
          {items.length > namesMax && <li>{texts.usersMore(items.length - namesMax)}</li>}
        </ul>
      )}
    </Card>
  )
}

function GrantsToRole({ name }: { name: string }) {
  const list = useList('grants.list', { subjectType: 'role', subjectId: name })
  return (
    <Card title={texts.grantsToRole} flush={list.items.length > 0}>
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {!list.problem && list.items.length === 0 && <p className="quiet">{texts.grantsToRoleEmpty}</p>}
      {list.items.length > 0 && (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.grantColumns.resource}</th>
                <th scope="col">{texts.grantColumns.scopes}</th>
              </tr>
            </thead>
            <tbody>
              {list.items.map(({ id, resource, scopes }) => (
                <tr key={id}>
                  <th scope="row">
                    <Text value={resource} max={80} mono />
                  </th>
                  <td>
                    <Text value={scopes.join(', ')} max={160} mono />
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

function DeleteRole({ role: { name } }: { role: Role }) {
  const [isOpen, setOpen] = useState(false)
  const may = useMay()
  const grants = useList(
    'grants.list',
    { subjectType: 'role', subjectId: name },
    { enabled: may('identity:grant:read') },
  )
  const users = useUsersWithRole(name, may('identity:user:read'))
  const change = useChange('roles.delete', { also: ['grants', 'users', 'me'] })
  const [, navigate] = useLocation()
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ name })
    if (outcome.kind !== 'done') return
    toast(texts.deleted)
    navigate('/roles')
  }
  return (
    <>
      <Menu
        entries={[{ id: 'delete', label: texts.delete, icon: 'trash', isDanger: true, onAction: () => setOpen(true) }]}
      />
      <ConfirmDelete
        objectName={texts.objectName(name)}
        also={
          grants.isLoading || users.isLoading
            ? undefined
            : [
                { name: texts.also.users, count: users.items.length },
                { name: texts.also.grants, count: grants.total ?? 0 },
              ]
        }
        isOpen={isOpen}
        isBusy={change.isRunning}
        problem={change.problem}
        onConfirm={() => void remove()}
        onClose={() => setOpen(false)}
      />
    </>
  )
}
