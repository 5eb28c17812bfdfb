/** The account of the caller: profile, preferences, password, second factors and sessions. */
import { useMay } from '../../api/me.ts'
import { useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { Preferences } from './preferences.tsx'
import { Password, SecondFactors } from './security.tsx'
import { Sessions } from './sessions.tsx'
import { texts } from './texts.ts'

export default function AccountPage() {
  const profile = useGet('me.profile.get', {})
  const may = useMay()
  const { data } = profile
  if (profile.isLoading) return <Loading label={texts.loading} />
  return (
    <>
      <PageHeader title={texts.title} lead={texts.lead} actions={<AsCommand operation="me.profile.get" />} />
      {profile.problem && <ErrorNote problem={profile.problem} onRetry={() => void profile.reload()} />}
      {data && (
        <div className="columns">
          <div className="stack">
            <Card
              title={texts.profile}
              actions={
                may('identity:user:update') && (
                  <LinkButton to={`/users/${encodeURIComponent(data.subject.id)}`} icon="edit">
                    {texts.change}
                  </LinkButton>
                )
              }
            >
              <Facts
                items={[
                  [texts.facts.username, <Text key="username" value={data.username} />],
                  [
                    texts.facts.name,
                    <Text key="name" value={[data.firstName, data.lastName].filter(Boolean).join(' ')} />,
                  ],
                  [texts.facts.email, <Text key="email" value={data.email} />],
                  [texts.facts.tenant, <Text key="tenant" value={data.tenantName} />],
                  [texts.facts.roles, <Text key="roles" value={data.roles.join(', ')} />],
                ]}
              />
              {!may('identity:user:update') && <p className="quiet">{texts.profileNote}</p>}
            </Card>
            <Preferences />
          </div>
          <div className="stack">
            {data.secondFactor && <SecondFactors state={data.secondFactor} />}
            <Password />
          </div>
        </div>
      )}
      {data && <Sessions />}
    </>
  )
}
