/** The page of rules, with tabs for rules, runs, dead letters (events for which a rule could not run), snippets and secrets. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { ArgumentsOf, ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { type AddressState, oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import { Time } from '../../parts/time.tsx'
import { DeadLetters } from './dead-letters.tsx'
import { libraryTexts } from './library-texts.ts'
import { Secrets } from './secrets.tsx'
import { Snippets } from './snippets.tsx'
import { texts } from './texts.ts'
import { outcomes, Traces } from './traces.tsx'

type Rule = ItemOf<'rules.list'>

const tabIds = ['rules', 'runs', 'letters', 'snippets', 'secrets'] as const
/** Scopes of the tabs that need another scope than `rule:read`. */
const scopes: Partial<Record<(typeof tabIds)[number], string>> = { snippets: 'snippet:read', secrets: 'secret:read' }
const sortKeys = ['-updated', 'updated'] as const
const origins = ['own', 'setting'] as const
const settingAddressOf = (id: string) => `/alerts/settings/${encodeURIComponent(id)}`
const addressOf = ({ id }: Rule) => `/rules/${encodeURIComponent(id)}`

const nameColumn: Column<Rule> = {
  ...{ id: 'name', title: texts.columns.name, width: 'minmax(12rem, 2fr)' },
  cell: (rule) => (
    <Link to={addressOf(rule)}>
      <Text value={rule.name} max={100} />
    </Link>
  ),
}

/** All rules of an alert setting have the name of the setting. This column distinguishes them. */
const partColumn: Column<Rule> = {
  ...{ id: 'part', title: texts.columns.part, width: 'minmax(12rem, 1.5fr)' },
  cell: ({ alertSettingId = '', alertSettingPart = 'ALERT' }) => (
    <Link to={settingAddressOf(alertSettingId)}>{texts.partOf[alertSettingPart]}</Link>
  ),
}

const columns: Column<Rule>[] = [
  {
    ...{ id: 'state', title: texts.columns.state, width: '8rem' },
    cell: ({ state }) => <Badge tone={state === 'ENABLED' ? 'good' : 'quiet'}>{texts.states[state]}</Badge>,
  },
  {
    ...{ id: 'runs', title: texts.columns.runs, width: '7rem', align: 'end' },
    cell: ({ statistics }) => count(statistics.count),
  },
  {
    ...{ id: 'duration', title: texts.columns.duration, width: '9rem', align: 'end' },
    cell: ({ statistics }) => (statistics.count === 0 ? <Text value="" /> : texts.milliseconds(statistics.avgDuration)),
  },
  { ...{ id: 'version', title: texts.columns.version, width: '6rem', align: 'end' }, cell: ({ version }) => version },
  {
    ...{ id: 'updated', title: texts.columns.updated, isSortable: true },
    cell: ({ updatedAt }) => <Time value={updatedAt} />,
  },
]

export default function RulesPage() {
  const address = useAddressState({
    tab: oneOf(tabIds, 'rules'),
    q: text(),
    origin: oneOf(origins, 'own'),
    sort: oneOf(sortKeys, '-updated'),
    outcome: oneOf(outcomes, ''),
    endpoint: text(),
  })
  const { tab, q, origin, sort } = address.values
  const may = useMay()
  const [isCreating, setCreating] = useState(false)
  const args: ArgumentsOf<'rules.list'> = {
    ...(q.trim() !== '' && { name: q.trim() }),
    ...(origin === 'setting' && { include: 'ATTACHED_TO_ALERT_SETTING' }),
    sort: 'updatedAt',
    sortOrder: sort.startsWith('-') ? 'desc' : 'asc',
    size: 100,
  }
  const tabs = tabIds.filter((id) => may(scopes[id] ?? 'rule:read'))
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={leads[tab] ?? texts.lead}
        actions={
          <>
            <AsCommand operation={operations[tab]} args={tab === 'rules' ? args : {}} />
            {tab === 'snippets' && may('tenant:snippet:create') && (
              <Create to="/rules/snippets/new">{libraryTexts.newSnippet}</Create>
            )}
            {tab === 'secrets' && may('tenant:secret:create') && (
              <span data-create="">
                <Button icon="plus" look="primary" onPress={() => setCreating(true)}>
                  {libraryTexts.newSecret}
                </Button>
              </span>
            )}
            {tab !== 'snippets' && tab !== 'secrets' && may('tenant:rule:create') && (
              <Create to="/rules/new">{texts.create}</Create>
            )}
          </>
        }
      />
      <Tabs label={texts.tabs.label} current={tab} tabs={tabs.map((id) => ({ id, title: texts.tabs[id] }))}>
        {tab === 'rules' && <RuleTable address={address} args={args} />}
        {tab === 'runs' && <Traces address={address} />}
        {tab === 'letters' && <DeadLetters />}
        {tab === 'snippets' && <Snippets address={address} />}
        {tab === 'secrets' && <Secrets address={address} isCreating={isCreating} onCreating={setCreating} />}
      </Tabs>
    </>
  )
}

const leads: Partial<Record<(typeof tabIds)[number], string>> = {
  snippets: libraryTexts.noSnippetsText,
  secrets: libraryTexts.noSecretsText,
}

const operations = {
  rules: 'rules.list',
  runs: 'rules.traces.list',
  letters: 'rules.deadLetters.list',
  snippets: 'snippets.list',
  secrets: 'secrets.list',
} as const

const Create = ({ to, children }: { to: string; children: string }) => (
  <span data-create="">
    <LinkButton to={to} icon="plus" look="primary">
      {children}
    </LinkButton>
  </span>
)

interface RuleTableProps {
  address: AddressState<{ q: string; origin: (typeof origins)[number]; sort: (typeof sortKeys)[number] }>
  args: ArgumentsOf<'rules.list'>
}

function RuleTable({ address, args }: RuleTableProps) {
  const { q, origin, sort } = address.values
  const list = useList('rules.list', args)
  const [, navigate] = useLocation()
  return (
    <>
      <FilterBar address={address}>
        <SearchBox label={texts.search} value={q} onChange={(q) => address.set({ q })} />
        <Segments
          label={texts.origin}
          options={origins.map((value) => ({ value, label: texts.origins[value] }))}
          value={origin}
          onChange={(origin) => address.set({ origin })}
        />
      </FilterBar>
      <DataTable
        label={texts.title}
        list={list}
        columns={[nameColumn, ...(origin === 'setting' ? [partColumn] : []), ...columns]}
        rowId={({ id }) => id}
        rowName={({ name }) => name}
        onOpen={(row) => navigate(addressOf(row))}
        sort={sort}
        onSort={(sort) => address.set({ sort: sort as (typeof sortKeys)[number] })}
        empty={<Empty isFiltered={q.trim() !== ''} isSetting={origin === 'setting'} onClear={address.reset} />}
      />
    </>
  )
}

function Empty({ isFiltered, isSetting, onClear }: { isFiltered: boolean; isSetting: boolean; onClear(): void }) {
  const may = useMay()
  if (isFiltered)
    return (
      <EmptyState icon="search" title={texts.noMatchTitle} actions={<Button onPress={onClear}>{texts.clear}</Button>}>
        {texts.noMatchText}
      </EmptyState>
    )
  if (isSetting)
    return (
      <EmptyState icon="bell" title={texts.emptySettingTitle}>
        {texts.emptySettingText}
      </EmptyState>
    )
  return (
    <EmptyState
      icon="zap"
      title={texts.emptyTitle}
      actions={
        may('tenant:rule:create') && (
          <LinkButton to="/rules/new" icon="plus">
            {texts.create}
          </LinkButton>
        )
      }
    >
      {texts.emptyText}
    </EmptyState>
  )
}
