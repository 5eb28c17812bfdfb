/** The editor of a dashboard: tools above, widgets at the left, settings of the selected widget at the right. */
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { Icon } from '../../parts/icons.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { Menu } from '../../parts/menu.tsx'
import { EmptyState, ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader, type PageHeaderProps } from '../../parts/page-header.tsx'
import type { Problem } from '../../parts/problem.ts'
import { isTooLong } from '../../parts/text-length.ts'
import { useUnsaved } from '../../parts/unsaved.ts'
import { DashboardProvider } from './context.tsx'
import {
  type Contents,
  freeId,
  iconOf,
  incompleteOf,
  kinds,
  lengths,
  newWidget,
  sizeOf,
  type Widget,
  type WidgetKind,
  widgetsMax,
} from './definition.ts'
import { EditGrid } from './edit-grid.tsx'
import { editTexts as texts } from './edit-texts.ts'
import { Grid } from './grid.tsx'
import type { History } from './history.ts'
import { Inspector } from './inspector.tsx'
import { compacted, freePlace, placed, type Rectangle } from './layout.ts'
import { timeDefault, timeName, type Values } from './references.ts'
import { Settings } from './settings.tsx'
import { Variables } from './variables.tsx'
import { shortTitleOf } from './widget.tsx'
import { widgetTexts } from './widget-texts.ts'

export interface EditorProps {
  header: Pick<PageHeaderProps, 'title' | 'above'>
  history: History<Contents>
  isChanged: boolean
  onSave(): void
  isSaving: boolean
  problem: Problem | undefined
  cancelTo: string
}

/** Handles Ctrl-Z, Ctrl-Shift-Z and Ctrl-Y. While the focus is in a text field, the browser handles these keys. */
function useUndoKeys(undo: () => void, redo: () => void) {
  useEffect(() => {
    const handle = (event: KeyboardEvent) => {
      const isTyping = (event.target as HTMLElement).matches?.('input, textarea, [contenteditable="true"]')
      if (!(event.ctrlKey || event.metaKey) || event.altKey || isTyping) return
      const key = event.key.toLowerCase()
      const isRedo = key === 'y' || (key === 'z' && event.shiftKey)
      if (key !== 'z' && !isRedo) return
      event.preventDefault()
      if (isRedo) redo()
      else undo()
    }
    addEventListener('keydown', handle)
    return () => removeEventListener('keydown', handle)
  }, [undo, redo])
}

/**
 * Returns functions that change widgets. Undo can revert each change. `said` describes the last change in words; screen readers announce
 * it.
 */
function useWidgetChanges({ now, change, undo, redo }: History<Contents>) {
  const [chosen, setChosen] = useState<string>()
  const [announcement, announce] = useState('')
  const { widgets } = now.definition
  const setWidgets = (next: (widgets: readonly Widget[]) => Widget[], name?: string) =>
    change((now) => ({ ...now, definition: { ...now.definition, widgets: next(now.definition.widgets) } }), name)
  const widgetOf = (id: string) => widgets.find((widget) => widget.id === id)
  const append = (widget: Widget) => {
    setWidgets((widgets) => [...widgets, widget])
    setChosen(widget.id)
    announce(texts.added(shortTitleOf(widget)))
  }
  return {
    ...{ chosen, setChosen, said: announcement },
    add: (kind: WidgetKind) =>
      append(newWidget(kind, { id: freeId(widgets, kind), ...freePlace(widgets, sizeOf(kind)) })),
    duplicate: (id: string) => {
      const widget = widgetOf(id)
      if (widget) append({ ...widget, id: freeId(widgets, widget.kind), ...freePlace(widgets, widget) })
    },
    replace: (widget: Widget, name: string) =>
      setWidgets((widgets) => widgets.map((one) => (one.id === widget.id ? widget : one)), `${widget.id} ${name}`),
    place: (id: string, rectangle: Rectangle, step = false) => {
      const next = placed(widgets, id, rectangle)
      setWidgets((widgets) => placed(widgets, id, rectangle), step ? `${id} place` : undefined)
      const moved = next.find((one) => one.id === id)
      if (moved) announce(texts.place(shortTitleOf(moved), moved.x, moved.y, moved.width, moved.height))
    },
    remove: (id: string) => {
      const at = widgets.findIndex((widget) => widget.id === id)
      if (at < 0) return
      setWidgets((widgets) => widgets.filter((widget) => widget.id !== id))
      if (chosen === id) setChosen(undefined)
      announce(texts.removed(shortTitleOf(widgets[at]!)))
      focusHandle((widgets[at + 1] ?? widgets[at - 1])?.id)
    },
    tidy: () => setWidgets(compacted),
    undo: () => {
      undo()
      announce(texts.undone)
    },
    redo: () => {
      redo()
      announce(texts.redone)
    },
  }
}

/** Moves the focus to the handle of a widget, or to the tools of the editor if `id` is undefined. */
function focusHandle(id: string | undefined) {
  requestAnimationFrame(() => {
    const selector = id === undefined ? '.editor-tools button' : `[data-widget="${CSS.escape(id)}"] [data-handle]`
    document.querySelector<HTMLElement>(selector)?.focus()
  })
}

const hasTooLongSettings = ({ name, description, definition }: Contents) =>
  isTooLong(name.trim(), lengths.name) ||
  isTooLong(description, lengths.description) ||
  (definition.variables ?? []).some(({ label }) => isTooLong(label, lengths.label))

export function Editor(props: EditorProps) {
  const { header, history, onSave, isSaving, problem, cancelTo } = props
  const { definition } = history.now
  const changes = useWidgetChanges(history)
  const [isPreview, setPreview] = useState(false)
  const [wasRefused, setRefused] = useState(false)
  const panel = useRef<HTMLElement>(null)
  useUnsaved(props.isChanged)
  useUndoKeys(changes.undo, changes.redo)
  const widget = definition.widgets.find(({ id }) => id === changes.chosen)
  const unfinished = definition.widgets.filter((one) => incompleteOf(one) !== undefined)
  const nameProblem = history.now.name.trim() === '' ? texts.noName : undefined
  const save = () => {
    const isWrong = nameProblem !== undefined || hasTooLongSettings(history.now)
    setRefused(unfinished.length > 0)
    if (isWrong) choose(undefined)
    else if (unfinished.length === 0) onSave()
  }
  const choose = (id: string | undefined) => {
    changes.setChosen(id)
    requestAnimationFrame(() => panel.current?.focus())
  }
  return (
    <>
      <PageHeader
        {...header}
        actions={
          <>
            <LinkButton to={cancelTo}>{texts.cancel}</LinkButton>
            <Button look="primary" icon="check" onPress={save} isBusy={isSaving}>
              {texts.save}
            </Button>
          </>
        }
      />
      <Tools
        history={history}
        changes={changes}
        isPreview={isPreview}
        onPreview={setPreview}
        onSettings={() => choose(undefined)}
      />
      {problem && <ErrorNote problem={problem} />}
      {wasRefused && unfinished.length > 0 && (
        <Note tone="warn">
          {texts.incomplete}{' '}
          {unfinished.map((one) => (
            <Button key={one.id} size="small" onPress={() => choose(one.id)}>
              {shortTitleOf(one)}
            </Button>
          ))}
        </Note>
      )}
      <Preview contents={history.now} isPreview={isPreview}>
        <div className="dashboard-editor">
          <div className="editor-canvas">
            {definition.widgets.length === 0 ? (
              <FirstWidget onAdd={changes.add} />
            ) : (
              <EditGrid
                widgets={definition.widgets}
                chosen={changes.chosen}
                onChoose={choose}
                onPlace={changes.place}
                onRemove={changes.remove}
              />
            )}
          </div>
          <Panel history={history} changes={changes} widget={widget} nameProblem={nameProblem} ref={panel} />
        </div>
      </Preview>
      <p id="dashboard-edit-help" className="quiet">
        {texts.help}
      </p>
      <p className="visually-hidden" role="status">
        {changes.said}
      </p>
    </>
  )
}

interface PanelProps {
  history: History<Contents>
  changes: ReturnType<typeof useWidgetChanges>
  widget: Widget | undefined
  nameProblem: string | undefined
  ref: RefObject<HTMLElement | null>
}

/** The settings of the chosen widget, or of the dashboard if no widget is chosen. */
function Panel({ history, changes, widget, nameProblem, ref }: PanelProps) {
  return (
    <aside
      className="editor-panel"
      ref={ref}
      tabIndex={-1}
      aria-label={widget ? texts.configure(shortTitleOf(widget)) : texts.settings}
    >
      <h2>
        <Icon name={widget ? iconOf[widget.kind] : 'dashboard'} size={16} />
        {widget ? widgetTexts.kinds[widget.kind] : texts.settings}
      </h2>
      {widget ? (
        <Inspector
          key={widget.id}
          widget={widget}
          variables={history.now.definition.variables ?? []}
          onChange={changes.replace}
          onPlace={(rectangle) => changes.place(widget.id, rectangle, true)}
          onDuplicate={() => changes.duplicate(widget.id)}
          onRemove={() => changes.remove(widget.id)}
        />
      ) : (
        <Settings contents={history.now} onChange={history.change} nameProblem={nameProblem} />
      )}
    </aside>
  )
}

/** Shows the variables, and below them the widgets: in the preview as readers see them, otherwise as `children`, which can be edited. */
function Preview({
  contents: { definition },
  isPreview,
  children,
}: {
  contents: Contents
  isPreview: boolean
  children: React.ReactNode
}) {
  const { variables = [] } = definition
  const [changed, setChanged] = useState<Values>({})
  const values = useMemo(
    () => ({
      [timeName]: timeDefault,
      ...Object.fromEntries(variables.map(({ name, value = '' }) => [name, value])),
      ...changed,
    }),
    [variables, changed],
  )
  const set = useCallback((next: Values) => setChanged((now) => ({ ...now, ...next })), [])
  const onTime = useCallback((name: string, value: string) => set({ [name]: value }), [set])
  return (
    <DashboardProvider definition={definition} values={values} onTime={onTime} refresh="live">
      <Variables variables={variables} values={values} onChange={set} />
      {isPreview ? <Grid definition={definition} /> : children}
    </DashboardProvider>
  )
}

const kindEntries = (onAdd: (kind: WidgetKind) => void) =>
  kinds.map((kind) => ({
    ...{ id: kind, label: widgetTexts.kinds[kind], icon: iconOf[kind] },
    onAction: () => onAdd(kind),
  }))

interface ToolsProps {
  history: History<Contents>
  changes: ReturnType<typeof useWidgetChanges>
  isPreview: boolean
  onPreview(isPreview: boolean): void
  onSettings(): void
}

function Tools({ history, changes, isPreview, onPreview, onSettings }: ToolsProps) {
  const { widgets } = history.now.definition
  return (
    <div className="editor-tools" role="toolbar" aria-label={texts.toolbar}>
      {!isPreview && (
        <>
          <Menu
            label={texts.add}
            entries={kindEntries(changes.add)}
            trigger={
              <Button icon="plus" isDisabled={widgets.length >= widgetsMax}>
                {texts.add}
              </Button>
            }
          />
          <Button icon="undo" onPress={changes.undo} isDisabled={!history.canUndo}>
            {texts.undo}
          </Button>
          <Button icon="redo" onPress={changes.redo} isDisabled={!history.canRedo}>
            {texts.redo}
          </Button>
          <Button icon="arrowUp" onPress={changes.tidy} isDisabled={widgets.length === 0}>
            {texts.tidy}
          </Button>
          <Button icon="sliders" onPress={onSettings}>
            {texts.toSettings}
          </Button>
        </>
      )}
      <Button icon={isPreview ? 'edit' : 'eye'} onPress={() => onPreview(!isPreview)} aria-pressed={isPreview}>
        {isPreview ? texts.endPreview : texts.preview}
      </Button>
      {widgets.length >= widgetsMax && <span className="quiet">{texts.tooMany(widgetsMax)}</span>}
    </div>
  )
}

const FirstWidget = ({ onAdd }: { onAdd(kind: WidgetKind): void }) => (
  <EmptyState
    icon="dashboard"
    title={texts.emptyTitle}
    actions={
      <div className="kind-cards">
        {kinds.map((kind) => (
          <button key={kind} type="button" className="kind-card" onClick={() => onAdd(kind)}>
            <Icon name={iconOf[kind]} />
            <strong>{widgetTexts.kinds[kind]}</strong>
            <small>{widgetTexts.kindNotes[kind]}</small>
          </button>
        ))}
      </div>
    }
  >
    {texts.emptyText}
  </EmptyState>
)
