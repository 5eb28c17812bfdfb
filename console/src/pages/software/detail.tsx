/**
 * One software version: the progress of its rollout, pause and resume, a preview of the endpoints to which it would be offered, and its
 * facts.
 */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useGet } from '../../api/query.ts'
import { useRefresh } from '../../api/refresh.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { ItemProgress } from '../../parts/item-progress.tsx'
import { JsonView } from '../../parts/json-view.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { Menu } from '../../parts/menu.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { FailedEndpoints } from './failed.tsx'
import { SoftwareFile } from './file.tsx'
import { formTexts } from './form-texts.ts'
import { Preview } from './preview.tsx'
import { StartRollout } from './start.tsx'
import { RolloutState } from './state.tsx'
import { texts } from './texts.ts'
import type { Software } from './values.ts'

type Rollout = BodyOf<'software.rollout.get'>
const refreshMs = 5_000

export default function SoftwareVersionPage({ params }: PageProps) {
  const args = { appName: params.appName!, softwareVersion: params.softwareVersion! }
  const software = useGet('software.get', args)
  const rollout = useGet('software.rollout.get', args, { refreshMs })
  const may = useMay()
  // Software messages of devices (`cmx_ota`) change the counts, so each such message causes a read. A caller who may not read traffic gets
  // new counts only at each `refreshMs`.
  useRefresh([{ topic: 'traffic', applicationName: args.appName, extensions: ['cmx_ota'] }], ['software'])
  const above = [{ title: texts.title, to: `/software?application=${encodeURIComponent(args.appName)}` }]
  const { data } = software
  if (software.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return (
      <>
        <PageHeader title={args.softwareVersion} above={above} />
        {software.problem && <ErrorNote problem={software.problem} onRetry={() => void software.reload()} />}
      </>
    )
  const resource = `application-${args.appName}`
  const mayUpdate = may('application:software:update', resource)
  return (
    <>
      <PageHeader
        title={data.version}
        above={above}
        lead={<RolloutState state={data.rolloutState} strategy={data.rolloutStrategy} />}
        actions={
          <>
            <AsCommand operation="software.rollout.get" args={args} />
            {mayUpdate && (
              <LinkButton
                to={`/software/${encodeURIComponent(args.appName)}/${encodeURIComponent(data.version)}/edit`}
                icon="edit"
              >
                {formTexts.edit}
              </LinkButton>
            )}
            {mayUpdate && data.rolloutStrategy !== 'suspended' && <PauseOrResume software={data} />}
            {mayUpdate && data.rolloutStrategy === 'suspended' && <StartRollout software={data} etag={software.etag} />}
            {may('application:software:delete', resource) && (
              <DeleteSoftware software={data} etag={software.etag} rollout={rollout.data} />
            )}
          </>
        }
      />
      {data.warnings.map((warning) => (
        <Note key={warning} tone="warn">
          <Text value={warning} max={300} />
        </Note>
      ))}
      <Card
        title={texts.progress}
        actions={
          <Link to={`/software?tab=endpoints&application=${encodeURIComponent(args.appName)}`}>
            {texts.allEndpoints}
          </Link>
        }
      >
        {rollout.problem && <ErrorNote problem={rollout.problem} onRetry={() => void rollout.reload()} />}
        {rollout.data ? <Progress rollout={rollout.data} /> : <Loading label={texts.loading} />}
      </Card>
      <FailedEndpoints software={data} mayUpdate={mayUpdate} />
      <div className="columns">
        <SoftwareFile software={data} mayUpdate={mayUpdate} />
        <Preview software={data} />
        <Card title={texts.about}>
          <Facts items={factsOf(data)} />
        </Card>
        {data.specification !== undefined && (
          <Card title={texts.specification}>
            <JsonView label={texts.specification} value={data.specification} />
          </Card>
        )}
        {data.metadata !== undefined && (
          <Card title={texts.metadata}>
            <JsonView label={texts.metadata} value={data.metadata} />
          </Card>
        )}
      </div>
    </>
  )
}

const factsOf = (software: Software): [string, React.ReactNode][] => [
  [
    texts.facts.application,
    <Link key="application" to={`/applications/${encodeURIComponent(software.appName)}`}>
      <Text value={software.appName} />
    </Link>,
  ],
  [texts.facts.strategy, texts.strategies[software.rolloutStrategy]],
  [
    texts.facts.from,
    software.upgradableFrom.length === 0 ? (
      texts.start
    ) : (
      <Text key="from" value={software.upgradableFrom.join(', ')} max={300} />
    ),
  ],
  [
    texts.facts.filters,
    <Text key="filters" value={software.filters.map(({ filterId }) => filterId).join(', ')} max={300} />,
  ],
  [
    texts.facts.threshold,
    software.failureThreshold
      ? texts.threshold(software.failureThreshold.percent, software.failureThreshold.minimumAttempts)
      : texts.never,
  ],
  [texts.facts.created, <Time key="created" value={software.createdDate} style="full" />],
  [texts.facts.updated, <Time key="updated" value={software.updatedDate} />],
]

const countNames = ['waiting', 'offered', 'applied', 'failed'] as const

function Progress({ rollout: { counts, reason } }: { rollout: Rollout }) {
  const total = countNames.reduce((sum, name) => sum + counts[name], 0)
  return (
    <div className="stack">
      {reason !== undefined && (
        <Note tone="warn">
          <Text value={reason} max={300} />
        </Note>
      )}
      <ItemProgress label={texts.progress} succeeded={counts.applied} failed={counts.failed} total={total} />
      <dl className="software-counts">
        {countNames.map((name) => (
          <div key={name} className={`software-count${counts[name] > 0 ? ` software-${name}` : ''}`}>
            <dt>{texts.counts[name]}</dt>
            <dd>{count(counts[name])}</dd>
            <dd className="quiet">{texts.countNotes[name]}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}

function PauseOrResume({ software: { appName, version, rolloutState } }: { software: Software }) {
  const [isOpen, setOpen] = useState(false)
  // The platform can halt the rollout while the dialog is open. The dialog then must not become the dialog of the opposite action.
  const [asked, setAsked] = useState<'pause' | 'resume'>('pause')
  const pause = useChange('software.rollout.pause')
  const resume = useChange('software.rollout.resume')
  const toast = useToast()
  const possible = rolloutState === 'active' ? 'pause' : 'resume'
  const change = asked === 'pause' ? pause : resume
  function ask() {
    setAsked(possible)
    setOpen(true)
  }
  async function run() {
    const outcome = await change.run({ appName, softwareVersion: version })
    if (outcome.kind !== 'done') return
    setOpen(false)
    toast(asked === 'pause' ? texts.paused : texts.resumed)
  }
  return (
    <>
      <Button icon={possible === 'pause' ? 'pause' : 'play'} onPress={ask}>
        {possible === 'pause' ? texts.pause : texts.resume}
      </Button>
      <Confirm
        title={asked === 'pause' ? texts.pauseTitle(version) : texts.resumeTitle(version)}
        action={asked === 'pause' ? texts.pause : texts.resume}
        isOpen={isOpen}
        isOutdated={asked !== possible}
        isBusy={change.isRunning}
        problem={change.problem}
        onConfirm={() => void run()}
        onClose={() => setOpen(false)}
      >
        {asked === 'pause' ? texts.pauseText : texts.resumeText}
      </Confirm>
    </>
  )
}

interface DeleteProps {
  software: Software
  etag: string | undefined
  rollout: Rollout | undefined
}

function DeleteSoftware({ software: { appName, version, fileSize }, etag, rollout }: DeleteProps) {
  const [isOpen, setOpen] = useState(false)
  const change = useChange('software.delete')
  const [, navigate] = useLocation()
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ appName, softwareVersion: version }, { ifMatch: etag })
    if (outcome.kind !== 'done') return
    toast(texts.deleted)
    navigate(`/software?application=${encodeURIComponent(appName)}`)
  }
  return (
    <>
      <Menu
        entries={[{ id: 'delete', label: texts.delete, icon: 'trash', isDanger: true, onAction: () => setOpen(true) }]}
      />
      <ConfirmDelete
        objectName={texts.objectName(version)}
        also={[
          { name: texts.also.file, count: fileSize === undefined ? 0 : 1 },
          { name: texts.also.applied, count: rollout?.counts.applied ?? 0 },
          { name: texts.also.offered, count: rollout?.counts.offered ?? 0 },
        ]}
        confirmationWord={version}
        isOpen={isOpen}
        isBusy={change.isRunning}
        problem={change.problem}
        onConfirm={() => void remove()}
        onClose={() => setOpen(false)}
      />
    </>
  )
}
