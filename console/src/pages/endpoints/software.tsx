/** Software of an endpoint: the running version, the offered version, and every attempt with its result. */
import { useMay } from '../../api/me.ts'
import { useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { EmptyState, ErrorNote, PermissionNote } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import type { TabProps } from './tab.ts'
import { tabTexts as texts } from './tab-texts.ts'
import { useSoftware } from './use-software.ts'

const refreshMs = 5_000
const readScope = 'application:software:read'
const tones: Record<keyof typeof texts.softwareStates, Tone> = {
  current: 'good',
  waiting: 'info',
  offered: 'info',
  failed: 'bad',
}

/** Shows the offered version, with a badge if the version is now suspended. A suspended version is not offered again. */
function Offered({ appName, version }: { appName: string; version: string | undefined }) {
  const may = useMay()
  const enabled = version !== undefined && may(readScope, `application-${appName}`)
  const { data } = useGet('software.get', { appName, softwareVersion: version ?? '' }, { enabled, refreshMs })
  return (
    <>
      <Text value={version} mono />{' '}
      {data?.rolloutStrategy === 'suspended' && <Badge tone="warn">{texts.suspended}</Badge>}
    </>
  )
}

export default function SoftwareTab(props: TabProps) {
  const may = useMay()
  // The platform hides an application from callers who may not read its software, and would respond that it does not exist.
  if (!may(readScope, ...props.resources)) return <PermissionNote scope={readScope} />
  return <Software {...props} />
}

function Software({ endpoint: { endpointId, appName } }: TabProps) {
  const software = useSoftware(appName, endpointId)
  const { data } = software
  if (software.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return software.problem ? (
      <ErrorNote problem={software.problem} onRetry={software.reload} />
    ) : (
      <EmptyState icon="package" title={texts.softwareNoneTitle}>
        {texts.softwareNone}
      </EmptyState>
    )
  const report = [data.lastAppliedStatusCode, data.reasonPhrase].filter((part) => part !== undefined).join(' ')
  return (
    <div className="columns">
      <Card
        title={texts.software}
        actions={<AsCommand operation="software.endpoints.get" args={{ appName, endpointId }} />}
      >
        <Facts
          items={[
            [
              texts.softwareState,
              <Badge key="state" tone={tones[data.state]}>
                {texts.softwareStates[data.state]}
              </Badge>,
            ],
            [texts.current, <Text key="current" value={data.currentVersion} mono />],
            [texts.target, <Text key="target" value={data.targetVersion} mono />],
            [texts.offered, <Offered key="offered" appName={appName} version={data.offeredVersion} />],
            [texts.lastReport, <Text key="report" value={report} />],
            [texts.changed, <Time key="changed" value={data.updatedDate} />],
          ]}
        />
      </Card>
      <Card title={texts.attempts} flush>
        {data.attempts.length === 0 ? (
          <p className="card-note quiet">{texts.noAttempts}</p>
        ) : (
          <div className="scroll-x">
            <table className="plain-table">
              <thead>
                <tr>
                  <th scope="col">{texts.version}</th>
                  <th scope="col">{texts.offered}</th>
                  <th scope="col">{texts.reported}</th>
                  <th scope="col">{texts.result}</th>
                </tr>
              </thead>
              <tbody>
                {data.attempts.map((attempt) => (
                  <tr key={`${attempt.version} ${attempt.offeredDate}`}>
                    <th scope="row">
                      <Text value={attempt.version} mono max={40} />
                    </th>
                    <td>
                      <Time value={attempt.offeredDate} />
                    </td>
                    <td>
                      <Time value={attempt.reportedDate} />
                    </td>
                    <td>
                      <Text
                        value={[attempt.statusCode, attempt.reasonPhrase]
                          .filter((part) => part !== undefined)
                          .join(' ')}
                        max={120}
                      />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Card>
    </div>
  )
}
