/** The clients of the VPN. */
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { texts } from './texts.ts'

type VpnClient = ItemOf<'vpnClients.list'>

const states = ['', 'active', 'revoked'] as const
const addressOf = ({ id }: VpnClient) => `/vpn/${encodeURIComponent(id)}`

const columns: Column<VpnClient>[] = [
  {
    ...{ id: 'name', title: texts.columns.name, width: 'minmax(10rem, 1.5fr)' },
    cell: (client) => (
      <Link to={addressOf(client)}>
        <Text value={client.name} max={64} />
      </Link>
    ),
  },
  { ...{ id: 'type', title: texts.columns.type, width: '7rem' }, cell: ({ type }) => texts.types[type] },
  {
    ...{ id: 'address', title: texts.columns.address, width: '9rem' },
    cell: ({ ipAddress }) => <Text value={ipAddress} mono />,
  },
  {
    ...{ id: 'endpoint', title: texts.columns.endpoint, width: 'minmax(9rem, 1fr)' },
    cell: ({ endpointId }) =>
      endpointId ? (
        <Link to={`/endpoints/${encodeURIComponent(endpointId)}`}>
          <Text value={endpointId} max={60} />
        </Link>
      ) : (
        <Text value="" />
      ),
  },
  {
    ...{ id: 'state', title: texts.columns.state, width: '8rem' },
    cell: ({ state }) => <Badge tone={state === 'active' ? 'good' : 'quiet'}>{texts.states[state]}</Badge>,
  },
  {
    ...{ id: 'connected', title: texts.columns.connected, width: '9rem' },
    cell: ({ lastConnected }) => (lastConnected ? <Time value={lastConnected} /> : texts.never),
  },
]

export default function VpnPage() {
  const address = useAddressState({ endpoint: text(), state: oneOf(states, '') })
  const { endpoint, state } = address.values
  const [, navigate] = useLocation()
  const may = useMay()
  const args = { ...(endpoint !== '' && { endpointId: endpoint }), ...(state !== '' && { state }) }
  const list = useList('vpnClients.list', args, { refreshMs: 30_000 })
  const create = may('vpnclient:create') && (
    <span data-create="">
      <LinkButton to="/vpn/new" look="primary" icon="plus">
        {texts.create}
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
            <AsCommand operation="vpnClients.list" args={args} />
            {create}
          </>
        }
      />
      <FilterBar address={address}>
        <SearchBox label={texts.endpoint} value={endpoint} onChange={(endpoint) => address.set({ endpoint })} />
        <SelectField
          label={texts.state}
          value={state}
          onChange={(state) => address.set({ state: state as (typeof states)[number] })}
          options={(['active', 'revoked'] as const).map((value) => ({ value, label: texts.states[value] }))}
          placeholder={texts.allStates}
          isCompact
        />
      </FilterBar>
      <DataTable
        label={texts.title}
        list={list}
        columns={columns}
        rowId={({ id }) => id}
        rowName={({ name }) => name}
        onOpen={(row) => navigate(addressOf(row))}
        empty={
          address.isChanged ? (
            <EmptyState
              icon="search"
              title={texts.noMatchTitle}
              actions={<Button onPress={address.reset}>{texts.clear}</Button>}
            >
              {texts.noMatchText}
            </EmptyState>
          ) : (
            <EmptyState icon="globe" title={texts.emptyTitle} actions={create}>
              {texts.emptyText}
            </EmptyState>
          )
        }
      />
    </>
  )
}
