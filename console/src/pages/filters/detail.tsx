/** One filter: its query, its members, and its deletion. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { JsonView } from '../../parts/json-view.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { Menu } from '../../parts/menu.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { cut, Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { texts } from './texts.ts'

const shownMembers = 20

export default function FilterPage({ params }: PageProps) {
  const applicationName = params.applicationName!
  const filterId = params.filterId!
  const filter = useGet('endpointFilters.get', { applicationName, filterId }, { refreshMs: 3_000 })
  const may = useMay()
  const above = [{ title: texts.title, to: `/filters?application=${encodeURIComponent(applicationName)}` }]
  const { data } = filter
  if (filter.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return (
      <>
        <PageHeader title={filterId} above={above} />
        {filter.problem && <ErrorNote problem={filter.problem} onRetry={() => void filter.reload()} />}
      </>
    )
  const resource = `application-${applicationName}`
  const path = `/filters/${encodeURIComponent(applicationName)}/${encodeURIComponent(filterId)}`
  return (
    <>
      <PageHeader
        title={data.name}
        above={above}
        lead={
          <Badge tone={data.status === 'active' ? 'good' : 'info'}>
            {data.status === 'active' ? texts.membersOf(data.matchedEndpointsCount) : texts.status.pending}
          </Badge>
        }
        actions={
          <>
            <AsCommand operation="endpointFilters.get" args={{ applicationName, filterId }} />
            {may('application:endpoint-filter:update', resource) && (
              <LinkButton to={`${path}/edit`} icon="edit">
                {texts.edit}
              </LinkButton>
            )}
            {may('application:endpoint-filter:delete', resource) && (
              <DeleteFilter {...{ applicationName, filterId }} name={data.name} members={data.matchedEndpointsCount} />
            )}
          </>
        }
      />
      {data.status === 'pending' && <Note>{texts.pending}</Note>}
      <div className="columns">
        <Card title={texts.query}>
          <JsonView value={data.documentQuery} label={texts.query} />
        </Card>
        <Card>
          <Facts
            items={[
              [texts.facts.description, <Text key="description" value={data.description} />],
              [texts.facts.application, <Text key="application" value={applicationName} />],
              [texts.facts.created, <Time key="created" value={data.createdDate} style="full" />],
              [texts.facts.updated, <Time key="updated" value={data.updatedDate} />],
              [texts.facts.id, <Text key="id" value={filterId} mono />],
            ]}
          />
        </Card>
      </div>
      {data.status === 'active' && <Members filterId={filterId} />}
    </>
  )
}

function Members({ filterId }: { filterId: string }) {
  const members = useList(
    'endpoints.directory.list',
    { filterId, include: 'metadata', limit: shownMembers },
    { refreshMs: 10_000 },
  )
  return (
    <Card
      title={texts.members}
      actions={<Link to={`/endpoints?filter=${encodeURIComponent(filterId)}`}>{texts.toMembers}</Link>}
      flush
    >
      {members.isLoading ? (
        <div className="card-note">
          <Loading label={texts.loading} />
        </div>
      ) : members.problem ? (
        <ErrorNote problem={members.problem} onRetry={members.reload} />
      ) : members.items.length === 0 ? (
        <p className="card-note quiet">{texts.noMembers}</p>
      ) : (
        <div className="scroll-x">
          <table className="plain-table">
            <tbody>
              {members.items.slice(0, shownMembers).map(({ endpointId, metadata, appVersion, lastActivity }) => (
                <tr key={endpointId}>
                  <th scope="row">
                    <Link to={`/endpoints/${encodeURIComponent(endpointId)}`}>
                      <Text value={endpointId} max={60} />
                    </Link>
                  </th>
                  <td>
                    <Text value={metadata?.name} max={60} />
                  </td>
                  <td>
                    <Text value={appVersion.name} max={60} />
                  </td>
                  <td>
                    <Time value={lastActivity} />
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

function DeleteFilter({
  applicationName,
  filterId,
  name,
  members,
}: {
  applicationName: string
  filterId: string
  name: string
  members: number
}) {
  const [isOpen, setOpen] = useState(false)
  const change = useChange('endpointFilters.delete')
  const [, navigate] = useLocation()
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ applicationName, filterId })
    if (outcome.kind !== 'done') return
    toast(texts.deleted)
    navigate(`/filters?application=${encodeURIComponent(applicationName)}`)
  }
  return (
    <>
      <Menu
        entries={[{ id: 'delete', label: texts.delete, icon: 'trash', isDanger: true, onAction: () => setOpen(true) }]}
      />
      <ConfirmDelete
        objectName={texts.deleteObjectName(cut(name, 80).shown)}
        also={[{ name: texts.deleteMembers, count: members }]}
        isOpen={isOpen}
        isBusy={change.isRunning}
        problem={change.problem}
        onConfirm={() => void remove()}
        onClose={() => setOpen(false)}
      />
    </>
  )
}
