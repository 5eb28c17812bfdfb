/** A button that adds the chart of a page to a dashboard. `useAddToDashboard` of the api returns its properties. */
import { useState } from 'react'
import { Button, CancelButton } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { TextField } from './fields.tsx'
import { LinkButton } from './link.tsx'
import { ErrorNote, Note } from './notes.tsx'
import type { Problem } from './problem.ts'
import { SearchSelect } from './search-select.tsx'
import { Segments } from './segments.tsx'
import { isTooLong } from './text-length.ts'
import { texts } from './texts.ts'

export interface AddToDashboardProps {
  mayCreate: boolean
  dashboards: { value: string; label: string }[]
  search: string
  onSearch(text: string): void
  isBusy: boolean
  problem: Problem | undefined
  /** Returns the id of the dashboard, or undefined if the change failed. */
  onAdd(target: { dashboardId: string } | { name: string }, title: string): Promise<string | undefined>
  onOpen(): void
}

export function AddToDashboardButton({ onOpen, ...props }: AddToDashboardProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button
        size="small"
        icon="dashboard"
        onPress={() => {
          onOpen()
          setOpen(true)
        }}
      >
        {texts.addToDashboard}
      </Button>
      {isOpen && <AddDialog {...props} onClose={() => setOpen(false)} />}
    </>
  )
}

/** Maximum length of the name of a dashboard, and of the title of a widget. */
const namesMax = 200

type DialogProps = Omit<AddToDashboardProps, 'onOpen'> & { onClose(): void }

function AddDialog({ mayCreate, dashboards, search, onSearch, isBusy, problem, onAdd, onClose }: DialogProps) {
  const [target, setTarget] = useState<'existing' | 'new'>('existing')
  const [dashboardId, setDashboardId] = useState('')
  const [name, setName] = useState('')
  const [title, setTitle] = useState('')
  const [added, setAdded] = useState<string>()
  const isNew = mayCreate && target === 'new'
  const isChosen = isNew ? name.trim() !== '' && !isTooLong(name.trim(), namesMax) : dashboardId !== ''
  const isReady = isChosen && !isTooLong(title.trim(), namesMax)
  async function add() {
    setAdded(await onAdd(isNew ? { name: name.trim() } : { dashboardId }, title.trim()))
  }
  return (
    <Dialog
      title={texts.addToDashboard}
      isOpen
      isDone={added !== undefined}
      onClose={onClose}
      actions={
        added === undefined ? (
          <>
            <CancelButton onPress={onClose} />
            <Button look="primary" onPress={() => void add()} isBusy={isBusy} isDisabled={!isReady}>
              {texts.add}
            </Button>
          </>
        ) : (
          <>
            <Button onPress={onClose}>{texts.close}</Button>
            <LinkButton to={`/dashboards/${encodeURIComponent(added)}`} look="primary">
              {texts.openDashboard}
            </LinkButton>
          </>
        )
      }
    >
      {added !== undefined ? (
        <Note tone="good">{texts.addedToDashboard}</Note>
      ) : (
        <div className="form">
          {mayCreate && (
            <Segments<'existing' | 'new'>
              label={texts.whichDashboard}
              value={target}
              onChange={setTarget}
              options={[
                { value: 'existing', label: texts.existingDashboard },
                { value: 'new', label: texts.newDashboard },
              ]}
            />
          )}
          {isNew ? (
            <TextField
              label={texts.dashboardName}
              name="name"
              value={name}
              onChange={setName}
              lengthMax={namesMax}
              isRequired
            />
          ) : (
            <SearchSelect
              label={texts.dashboard}
              options={dashboards}
              value={dashboardId}
              onChange={setDashboardId}
              search={search}
              onSearch={onSearch}
              isField
            />
          )}
          <TextField label={texts.widgetTitle} name="title" value={title} onChange={setTitle} lengthMax={namesMax} />
          {problem && <ErrorNote problem={problem} />}
        </div>
      )}
    </Dialog>
  )
}
