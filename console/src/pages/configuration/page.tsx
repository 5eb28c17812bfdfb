/**
 * The page of configurations, with three tabs: the default configurations of a version, a configuration for some endpoints, and whether the
 * endpoints have applied their configurations.
 */
import { useApplicationChoice } from '../../api/application-choice.ts'
import { useMay } from '../../api/me.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar } from '../../parts/filter-bar.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { leave } from '../../parts/unsaved.ts'
import { Apply } from './apply.tsx'
import { Defaults } from './defaults.tsx'
import { Statuses, statuses } from './statuses.tsx'
import { texts } from './texts.ts'

const tabIds = ['defaults', 'apply', 'statuses'] as const
const useView = () =>
  useAddressState({
    tab: oneOf(tabIds, 'defaults'),
    application: text(),
    version: text(),
    name: text('default'),
    status: oneOf(statuses, 'ALL'),
    endpoint: text(),
    config: text(),
  })

export default function ConfigurationPage() {
  const address = useView()
  const { tab, name } = address.values
  const choice = useApplicationChoice(address)
  const appVersionName = address.values.version === '' ? (choice.versions[0] ?? '') : address.values.version
  const may = useMay()
  const mayChange = may('application:endpoint-config:update', `application-${choice.application}`)
  const tabs = tabIds.filter((id) => id !== 'apply' || mayChange)
  const isMissing = !choice.isLoading && !choice.problem && appVersionName === ''
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={
          <AsCommand
            operation={tab === 'statuses' ? 'configurations.statuses.list' : 'configurations.defaults.get'}
            args={{ appVersionName, ...(tab !== 'statuses' && { name }) }}
          />
        }
      />
      {choice.problem && <ErrorNote problem={choice.problem} onRetry={choice.reload} />}
      <Tabs
        label={texts.tabs.label}
        current={tab}
        keep={['application', 'version']}
        tabs={tabs.map((id) => ({ id, title: texts.tabs[id] }))}
      >
        <FilterBar address={{ ...address, isChanged: false }}>
          <SelectField
            label={texts.application}
            value={choice.application}
            onChange={(application) => leave(() => address.set({ application, version: '' }))}
            options={choice.options}
            isCompact
          />
          <SelectField
            label={texts.version}
            value={appVersionName}
            onChange={(version) => leave(() => address.set({ version }))}
            options={versionOptions(choice.versions, appVersionName)}
            isCompact
          />
        </FilterBar>
        {isMissing && (
          <EmptyState
            icon="layers"
            title={choice.isEmpty ? texts.noApplicationTitle : texts.noVersionTitle}
            actions={<LinkButton to="/applications">{texts.toApplications}</LinkButton>}
          >
            {choice.isEmpty ? texts.noApplicationText : texts.noVersionText}
          </EmptyState>
        )}
        {appVersionName !== '' && tab === 'defaults' && (
          <Defaults
            key={`${appVersionName} ${name}`}
            appName={choice.application}
            appVersionName={appVersionName}
            name={name}
            onName={(name) => leave(() => address.set({ name }))}
          />
        )}
        {appVersionName !== '' && tab === 'apply' && mayChange && (
          <Apply key={appVersionName} appName={choice.application} appVersionName={appVersionName} />
        )}
        {appVersionName !== '' && tab === 'statuses' && <Statuses appVersionName={appVersionName} address={address} />}
      </Tabs>
    </>
  )
}

const versionOptions = (versions: string[], chosen: string) =>
  [...new Set([...(chosen === '' ? [] : [chosen]), ...versions])].map((value) => ({ value, label: value }))
