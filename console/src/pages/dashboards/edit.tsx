/** Page that creates or changes a dashboard. If another caller changed the dashboard meanwhile, the page shows both versions. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import { type GetResult, useChange, useGet } from '../../api/query.ts'
import { Loading } from '../../parts/card.tsx'
import { useConditionalSave } from '../../parts/conditional-save.tsx'
import { ErrorNote, PermissionNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { cut, withoutInvisible } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../registry.ts'
import { addressOf, useCreateDashboard } from './actions.tsx'
import { bodyOf, type Contents, contentsOf, type Dashboard } from './definition.ts'
import { editTexts as texts } from './edit-texts.ts'
import { Editor } from './editor.tsx'
import { useHistory } from './history.ts'
import { texts as pageTexts } from './texts.ts'

export default function DashboardEditPage({ params: { dashboardId } }: PageProps) {
  return dashboardId === undefined ? <NewDashboard /> : <ExistingDashboard dashboardId={dashboardId} />
}

const above = [{ title: pageTexts.title, to: '/dashboards' }]

const newContents = (): Contents => ({
  name: texts.newName,
  description: '',
  definition: { variables: [{ name: 'time', kind: 'time', value: 'PT6H' }], widgets: [] },
})

function NewDashboard() {
  const [first] = useState(newContents)
  const history = useHistory(first)
  const create = useCreateDashboard()
  const toast = useToast()
  async function save() {
    if ((await create.open(bodyOf(history.now))) === undefined) toast(texts.created)
  }
  return (
    <Editor
      header={{ title: texts.newTitle, above }}
      history={history}
      isChanged={history.canUndo}
      onSave={() => void save()}
      isSaving={create.isRunning}
      problem={create.problem}
      cancelTo="/dashboards"
    />
  )
}

function ExistingDashboard({ dashboardId }: { dashboardId: string }) {
  const read = useGet('dashboards.get', { dashboardId })
  const may = useMay()
  const dashboard = read.data as Dashboard | undefined
  if (read.isLoading) return <Loading label={pageTexts.loading} lines={8} />
  if (dashboard && may('dashboard:update', `dashboard-${dashboardId}`))
    return <ChangeDashboard first={dashboard} read={read as GetResult<Dashboard>} />
  return (
    <>
      <PageHeader title={dashboard?.name ?? pageTexts.title} above={above} />
      {dashboard ? (
        <PermissionNote scope="dashboard:update" />
      ) : (
        read.problem && <ErrorNote problem={read.problem} onRetry={() => void read.reload()} />
      )}
    </>
  )
}

function ChangeDashboard({ first, read }: { first: Dashboard; read: GetResult<Dashboard> }) {
  const [firstContents] = useState(() => contentsOf(first))
  const history = useHistory(firstContents)
  const change = useChange('dashboards.update')
  const [, navigate] = useLocation()
  const toast = useToast()
  const { dashboardId } = first
  const { save, dialog } = useConditionalSave<Dashboard>({
    etag: read.etag,
    save: async (ifMatch) => (await change.run({ dashboardId, body: bodyOf(history.now) }, { ifMatch })).kind,
    readAgain: read.reload,
    compare: (theirs) => differences(contentsOf(theirs), history.now),
    // Taking the other version is a step that undo can revert, so the version of the user is not lost.
    onTake: (theirs) => history.change(() => contentsOf(theirs)),
    onDone: () => {
      toast(texts.saved)
      navigate(addressOf(dashboardId))
    },
  })
  const name = withoutInvisible(cut(first.name, 80).shown)
  return (
    <>
      <Editor
        header={{ title: texts.editTitle(name), above: [...above, { title: name, to: addressOf(dashboardId) }] }}
        history={history}
        isChanged={history.now !== firstContents}
        onSave={() => void save()}
        isSaving={change.isRunning}
        problem={change.problem}
        cancelTo={addressOf(dashboardId)}
      />
      {dialog}
    </>
  )
}

const written = (value: unknown) => (value === undefined ? '' : JSON.stringify(value))

/** Returns both versions of every part that differs: name, description, variables, and each widget. */
function differences(theirs: Contents, yours: Contents) {
  const widgetIn = ({ definition }: Contents, id: string) => written(definition.widgets.find((one) => one.id === id))
  const ids = new Set([...theirs.definition.widgets, ...yours.definition.widgets].map(({ id }) => id))
  const parts = [
    { name: 'name', theirs: theirs.name, yours: yours.name },
    { name: 'description', theirs: theirs.description, yours: yours.description },
    {
      name: 'variables',
      theirs: written(theirs.definition.variables),
      yours: written(yours.definition.variables),
    },
    ...[...ids].map((id) => ({
      ...{ name: texts.conflictWidget(id), theirs: widgetIn(theirs, id), yours: widgetIn(yours, id) },
    })),
  ]
  return parts.filter(({ theirs, yours }) => theirs !== yours)
}
