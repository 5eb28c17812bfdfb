/** Integrations with LoRaWAN networks: applications with devices, accounts with gateways. */
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { type ListResult, useList } from '../../api/query.ts'
import { oneOf, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { Text } from '../../parts/text.tsx'
import { SessionBadge, StatusBadge } from './badges.tsx'
import { texts } from './texts.ts'

type AppIntegration = ItemOf<'appIntegrations.list'>
type AccountIntegration = ItemOf<'accountIntegrations.list'>

const tabIds = ['applications', 'accounts'] as const
const refreshMs = 10_000

const nameColumn = <T extends { id: number; name: string }>(folder: string): Column<T> => ({
  ...{ id: 'name', title: texts.columns.name, width: 'minmax(11rem, 1.5fr)' },
  cell: ({ id, name }) => (
    <Link to={`/lorawan/${folder}/${id}`}>
      <Text value={name} max={80} />
    </Link>
  ),
})

const networkColumn = <T extends { netIdentityServerHost: string }>(): Column<T> => ({
  ...{ id: 'network', title: texts.columns.network, width: 'minmax(11rem, 1fr)' },
  cell: ({ netIdentityServerHost }) => <Text value={netIdentityServerHost} max={80} mono />,
})

const statusColumn = <T extends { status: 'ACTIVE' | 'SUSPENDED' }>(): Column<T> => ({
  ...{ id: 'status', title: texts.columns.status, width: '8rem' },
  cell: ({ status }) => <StatusBadge status={status} />,
})

const applicationColumns: Column<AppIntegration>[] = [
  nameColumn('applications'),
  {
    ...{ id: 'application', title: texts.columns.application, width: 'minmax(8rem, 1fr)' },
    cell: ({ appName }) => <Text value={appName} max={60} />,
  },
  networkColumn(),
  {
    ...{ id: 'session', title: texts.columns.session, width: '10rem' },
    cell: (integration) => <SessionBadge integration={integration} />,
  },
  statusColumn(),
]

const accountColumns: Column<AccountIntegration>[] = [
  nameColumn('accounts'),
  {
    ...{ id: 'user', title: texts.columns.user, width: 'minmax(9rem, 1fr)' },
    cell: ({ netUsername }) => <Text value={netUsername} max={60} />,
  },
  networkColumn(),
  statusColumn(),
]

/** Combines the lists of active and suspended integrations, because the API lists only one status at a time. */
function joined<T extends { id: number }>(active: ListResult<T>, suspended: ListResult<T>): ListResult<T> {
  const items = [...active.items, ...suspended.items].sort((a, b) => a.id - b.id)
  return {
    ...active,
    items,
    total: items.length,
    isLoading: active.isLoading || suspended.isLoading,
    problem: active.problem ?? suspended.problem,
    reload: () => {
      active.reload()
      suspended.reload()
    },
  }
}

export default function LorawanPage() {
  const address = useAddressState({ tab: oneOf(tabIds, 'applications') })
  const { tab } = address.values
  const may = useMay()
  const shown = tabIds.filter((one) =>
    may(one === 'applications' ? 'net-app-integration:read' : 'net-account-integration:read'),
  )
  const mayCreate = may(
    tab === 'applications' ? 'application:net-app-integration:create' : 'tenant:net-account-integration:create',
  )
  const create = mayCreate && (
    <span data-create="">
      <LinkButton to={`/lorawan/${tab}/new`} look="primary" icon="plus">
        {texts.create[tab]}
      </LinkButton>
    </span>
  )
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={
          <>
            <AsCommand operation={tab === 'applications' ? 'appIntegrations.list' : 'accountIntegrations.list'} />
            {create}
          </>
        }
      />
      <Tabs
        label={texts.tabs.label}
        current={tab}
        tabs={shown.map((one) => ({
          id: one,
          title: texts.tabs[one],
        }))}
      >
        {tab === 'applications' ? <Applications /> : <Accounts />}
      </Tabs>
    </>
  )
}

function Applications() {
  const [, navigate] = useLocation()
  const active = useList('appIntegrations.list', { status: 'ACTIVE' }, { refreshMs })
  const suspended = useList('appIntegrations.list', { status: 'SUSPENDED' }, { refreshMs })
  return (
    <DataTable
      label={texts.tabs.applications}
      list={joined(active, suspended)}
      columns={applicationColumns}
      rowId={({ id }) => String(id)}
      rowName={({ name }) => name}
      onOpen={({ id }) => navigate(`/lorawan/applications/${id}`)}
      empty={
        <EmptyState icon="radio" title={texts.empty.applications.title}>
          {texts.empty.applications.text}
        </EmptyState>
      }
    />
  )
}

function Accounts() {
  const [, navigate] = useLocation()
  const active = useList('accountIntegrations.list', { status: 'ACTIVE' }, { refreshMs })
  const suspended = useList('accountIntegrations.list', { status: 'SUSPENDED' }, { refreshMs })
  return (
    <DataTable
      label={texts.tabs.accounts}
      list={joined(active, suspended)}
      columns={accountColumns}
      rowId={({ id }) => String(id)}
      rowName={({ name }) => name}
      onOpen={({ id }) => navigate(`/lorawan/accounts/${id}`)}
      empty={
        <EmptyState icon="radio" title={texts.empty.accounts.title}>
          {texts.empty.accounts.text}
        </EmptyState>
      }
    />
  )
}
