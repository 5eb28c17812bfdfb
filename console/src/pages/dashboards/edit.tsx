/**
 * Page that creates or changes a dashboard. If another caller changed the dashboard meanwhile, the page shows both changes before it saves.
 */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import { type GetResult, useChange, useGet } from '../../api/query.ts'
import { Loading } from '../../parts/card.tsx'
import { useConditionalSave } from '../../parts/conditional-save.tsx'
import { compareKeys, mergeKeys } from '../../parts/merge.ts'
import { ErrorNote, PermissionNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { cut, withoutInvisible } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { addressOf, useCreateDashboard } from './actions.tsx'
import { bodyOf, type Contents, contentsOf, type Dashboard, type Definition, type Widget } from './definition.ts'
import { editTexts as texts } from './edit-texts.ts'
import { Editor } from './editor.tsx'
import { useHistory } from './history.ts'
import { placed } from './layout.ts'
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
  const [base, setBase] = useState(firstContents)
  const change = useChange('dashboards.update')
  const [, navigate] = useLocation()
  const toast = useToast()
  const { dashboardId } = first
  const { save, dialog } = useConditionalSave<Dashboard>({
    etag: read.etag,
    save: async (ifMatch) => (await change.run({ dashboardId, body: bodyOf(history.now) }, { ifMatch })).kind,
    readAgain: read.reload,
    compare: (theirs) =>
      compareKeys(partsOf(base), partsOf(contentsOf(theirs)), partsOf(history.now)).map((part) => ({
        ...{ ...part, theirs: written(part.theirs), yours: written(part.yours) },
      })),
    onMerge: (theirs) => {
      history.change((yours) => merged(base, contentsOf(theirs), yours))
      setBase(contentsOf(theirs))
    },
    // Taking the contents of the other caller is a step that undo can revert, so the contents of the user are not lost.
    onTake: (theirs) => {
      history.change(() => contentsOf(theirs))
      setBase(contentsOf(theirs))
    },
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

const written = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : value)

/** Returns the parts that two people can change independently: name, description, variables, and each widget. */
const partsOf = ({ name, description, definition: { widgets, ...others } }: Contents) => ({
  ...{ name, description, ...others },
  ...Object.fromEntries(widgets.map((widget) => [texts.conflictWidget(widget.id), widget])),
})

const withoutOverlap = (widgets: Widget[]) => (widgets[0] ? placed(widgets, widgets[0].id, widgets[0]) : widgets)

/** Returns the dashboard of the user with those parts of the other caller that the user has not changed. Widgets that overlap move down. */
function merged(base: Contents, theirs: Contents, yours: Contents): Contents {
  const { name, description, ...others } = mergeKeys(partsOf(base), partsOf(theirs), partsOf(yours))
  const ids = new Set([...yours.definition.widgets, ...theirs.definition.widgets].map(({ id }) => id))
  const widgets = [...ids].flatMap((id) => (others[texts.conflictWidget(id)] as Widget | undefined) ?? [])
  const { variables } = others as Pick<Definition, 'variables'>
  return {
    ...{ name: String(name), description: String(description) },
    definition: { ...yours.definition, ...(variables && { variables }), widgets: withoutOverlap(widgets) },
  }
}
