/** One user: profile, roles, second factors, API keys, permissions with their reasons, and the last changes that the user made. */
import { useMay, useMe } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useGet } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Loading } from '../../parts/card.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import type { PageProps } from '../page-props.ts'
import { Access } from './access.tsx'
import { UserActions } from './actions.tsx'
import { Activity } from './activity.tsx'
import { ApiKeysOfUser, SecondFactors } from './factors.tsx'
import { Profile } from './profile.tsx'
import { Roles } from './roles.tsx'
import { texts } from './texts.ts'

export type User = BodyOf<'users.get'>
const tabIds = ['profile', 'access', 'activity'] as const

export const nameOf = ({ firstName, lastName, username }: User) =>
  [firstName, lastName].filter(Boolean).join(' ') || username

export default function UserPage({ params }: PageProps) {
  const id = params.id!
  const user = useGet('users.get', { id })
  const address = useAddressState({ tab: oneOf(tabIds, 'profile'), resource: text('tenant-system'), q: text() })
  const may = useMay()
  const { data: me } = useMe()
  const above = [{ title: texts.title, to: '/users' }]
  const { data } = user
  if (user.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return (
      <>
        <PageHeader title={id} above={above} />
        {user.problem && <ErrorNote problem={user.problem} onRetry={() => void user.reload()} />}
      </>
    )
  const mayAsk = may('identity:role:read') && may('identity:grant:read')
  const tabs = tabIds.filter((tab) => (tab !== 'access' || mayAsk) && (tab !== 'activity' || may('tenant:audit:read')))
  const { tab, resource, q } = address.values
  return (
    <>
      <PageHeader
        title={nameOf(data)}
        above={above}
        lead={
          <>
            <Badge tone={data.enabled ? 'good' : 'quiet'}>{data.enabled ? texts.enabled : texts.disabled}</Badge>
            {me?.subject.id === id && <> · {texts.you}</>}
          </>
        }
        actions={
          <>
            <AsCommand
              operation={tab === 'access' ? 'users.access.get' : 'users.get'}
              args={tab === 'access' ? { id, resource } : { id }}
            />
            <UserActions user={data} isSelf={me?.subject.id === id} />
          </>
        }
      />
      <Tabs
        label={texts.tabs.label}
        current={tab}
        tabs={tabs.map((one) => ({
          id: one,
          title: texts.tabs[one],
        }))}
      >
        {tab === 'profile' && (
          <div className="columns">
            <Profile user={data} read={user} mayChange={may('identity:user:update')} />
            <Roles user={data} read={user} />
            <SecondFactors user={data} />
            {may('identity:api-key:read') && <ApiKeysOfUser userId={id} />}
          </div>
        )}
        {tab === 'access' && mayAsk && (
          <Access
            user={data}
            resource={resource}
            q={q}
            onResource={(resource) => address.set({ resource })}
            onSearch={(q) => address.set({ q })}
          />
        )}
        {tab === 'activity' && <Activity user={data} />}
      </Tabs>
    </>
  )
}
