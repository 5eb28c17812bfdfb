/** The settings in effect on the node that serves the request. */
import type { ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { texts } from './texts.ts'

type Setting = ItemOf<'platform.settings.list'>
const origins = ['', 'default', 'environment', 'file'] as const

export default function SettingsPage() {
  const address = useAddressState({ q: text(), owner: text(), origin: oneOf(origins, '') })
  const { q, owner, origin } = address.values
  const list = useList('platform.settings.list', {})
  const owners = [...new Set(list.items.map((setting) => setting.owner))].sort()
  const searchText = q.toLowerCase()
  const items = list.items.filter(
    (setting) =>
      (owner === '' || setting.owner === owner) &&
      (origin === '' || setting.origin === origin) &&
      [setting.name, setting.meaning, setting.value].some((part) => part?.toLowerCase().includes(searchText)),
  )
  return (
    <>
      <PageHeader
        title={texts.settingsTitle}
        lead={texts.settingsLead}
        actions={<AsCommand operation="platform.settings.list" />}
      />
      <FilterBar address={address}>
        <SearchBox label={texts.settingsSearch} value={q} onChange={(q) => address.set({ q })} />
        <SelectField
          label={texts.owner}
          value={owner}
          onChange={(owner) => address.set({ owner })}
          options={owners.map((value) => ({ value, label: value }))}
          placeholder={texts.allOwners}
          isCompact
        />
        <SelectField
          label={texts.origin}
          value={origin}
          onChange={(origin) => address.set({ origin: origin as (typeof origins)[number] })}
          options={(['default', 'environment', 'file'] as const).map((value) => ({
            value,
            label: texts.origins[value],
          }))}
          placeholder={texts.anyOrigin}
          isCompact
        />
      </FilterBar>
      {list.isLoading && <Loading label={texts.loading} lines={8} />}
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {!list.isLoading && !list.problem && items.length === 0 && (
        <EmptyState icon="search" title={texts.noMatchTitle}>
          {texts.noMatchText}
        </EmptyState>
      )}
      {items.length > 0 && <Settings items={items} />}
    </>
  )
}

const Settings = ({ items }: { items: Setting[] }) => (
  <Card flush>
    <div className="scroll-x">
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{texts.settingColumns.name}</th>
            <th scope="col">{texts.settingColumns.value}</th>
            <th scope="col">{texts.settingColumns.origin}</th>
            <th scope="col">{texts.settingColumns.meaning}</th>
          </tr>
        </thead>
        <tbody>
          {items.map((setting) => (
            <tr key={setting.name}>
              <th scope="row" className="setting-name">
                <Text value={setting.name} max={80} mono />
                <div className="quiet">
                  <Text value={setting.owner} />
                </div>
              </th>
              <td>
                {setting.value === undefined ? (
                  <span className="quiet">{texts.unset}</span>
                ) : (
                  <Text value={setting.value} max={120} mono />
                )}
                {setting.default !== undefined && setting.default !== setting.value && (
                  <div className="quiet">
                    <Text value={texts.defaultIs(setting.default)} max={80} />
                  </div>
                )}
              </td>
              <td>
                <Badge tone={setting.origin === 'default' ? 'quiet' : 'info'}>{texts.origins[setting.origin]}</Badge>
              </td>
              <td>
                <Text value={setting.meaning} max={400} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </Card>
)
