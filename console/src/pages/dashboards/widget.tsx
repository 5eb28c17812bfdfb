/** One widget: a heading with its actions, and the body of its kind. If a widget fails, the other widgets still work. */
import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { Boundary } from '../../parts/boundary.tsx'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Markdown } from '../../parts/markdown.tsx'
import { Menu, type MenuEntry } from '../../parts/menu.tsx'
import { cut, Text, withoutInvisible } from '../../parts/text.tsx'
import { useDashboard } from './context.tsx'
import { iconOf, incompleteOf, titleOf, type Widget, type WidgetOf } from './definition.ts'
import { exploreAddress } from './explore-address.ts'
import { AlertsWidget } from './widget-alerts.tsx'
import { ChartWidget } from './widget-chart.tsx'
import { CommandWidget } from './widget-command.tsx'
import { MapWidget } from './widget-map.tsx'
import { WidgetNote } from './widget-notes.tsx'
import { TableWidget } from './widget-table.tsx'
import { widgetTexts as texts } from './widget-texts.ts'
import { ValueWidget } from './widget-value.tsx'

export const shortTitleOf = (widget: Widget) => withoutInvisible(cut(titleOf(widget), 80).shown)

function KindBody({ widget, isTable, isActive }: { widget: Widget; isTable: boolean; isActive: boolean }) {
  if (widget.kind === 'chart') return <ChartWidget widget={widget} isTable={isTable} />
  if (widget.kind === 'value') return <ValueWidget widget={widget} />
  if (widget.kind === 'table') return <TableWidget widget={widget} />
  if (widget.kind === 'map') return <MapWidget widget={widget} isTable={isTable} />
  if (widget.kind === 'alerts') return <AlertsWidget widget={widget} />
  if (widget.kind === 'command') return <CommandWidget widget={widget} isActive={isActive} />
  return <TextBody widget={widget} />
}

const TextBody = ({ widget }: { widget: WidgetOf<'text'> }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard
  <section className="widget-scroll widget-markdown" tabIndex={0} aria-label={shortTitleOf(widget)}>
    <Markdown text={widget.text} />
  </section>
)

/** The body of a widget. While the widget is edited, `isActive` is false and its buttons do nothing. */
export function WidgetBody({ widget, isTable, isActive }: { widget: Widget; isTable: boolean; isActive: boolean }) {
  const incomplete = incompleteOf(widget)
  if (incomplete !== undefined) return <WidgetNote icon={iconOf[widget.kind]}>{incomplete}</WidgetNote>
  return (
    <Boundary
      resetKey={JSON.stringify(widget)}
      fallback={(error, retry) => (
        <div className="widget-note widget-note-warn" role="alert">
          <Icon name="alert" size={16} />
          <span>
            {texts.failed} <Text value={error.message} max={200} mono />
          </span>
          <Button size="small" onPress={retry}>
            {texts.retry}
          </Button>
        </div>
      )}
    >
      <KindBody widget={widget} isTable={isTable} isActive={isActive} />
    </Boundary>
  )
}

/** Returns a ref for an element, and whether the element has been visible. A widget reads no data until it has been visible. */
function useHasBeenVisible() {
  const ref = useRef<HTMLDivElement>(null)
  const [isSeen, setSeen] = useState(false)
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && setSeen(true),
      { rootMargin: '200px' },
    )
    if (ref.current) observer.observe(ref.current)
    return () => observer.disconnect()
  }, [])
  return { ref, isSeen }
}

export interface WidgetViewProps {
  widget: Widget
  isActive?: boolean
  /** Controls of the editor, before the menu. */
  controls?: ReactNode
}

export function WidgetView({ widget, isActive = true, controls }: WidgetViewProps) {
  const [isTable, setTable] = useState(false)
  const [isLarge, setLarge] = useState(false)
  const { ref, isSeen } = useHasBeenVisible()
  const id = useId()
  const dashboard = useDashboard()
  const hasTable = widget.kind === 'chart' || widget.kind === 'map'
  const explore = exploreAddress(dashboard, widget)
  const entries: MenuEntry[] = [
    ...(hasTable
      ? [
          {
            id: 'table',
            label: isTable ? (widget.kind === 'map' ? texts.showMap : texts.showChart) : texts.showTable,
            icon: isTable ? iconOf[widget.kind] : ('table' as const),
            onAction: () => setTable(!isTable),
          },
        ]
      : []),
    { id: 'enlarge', label: texts.enlarge, icon: 'maximize', onAction: () => setLarge(true) },
    ...(explore === undefined ? [] : [{ id: 'explore', label: texts.explore, icon: 'chart' as const, to: explore }]),
  ]
  // A text without a title shows no heading.
  const isPlain = widget.kind === 'text' && !widget.title && controls === undefined
  return (
    <section className={`widget widget-${widget.kind}`} aria-labelledby={id} ref={ref}>
      <div className={isPlain ? 'visually-hidden' : 'widget-head'}>
        <h2 id={id}>
          <Text value={titleOf(widget)} max={80} />
        </h2>
        {controls}
        {!isPlain && isActive && <Menu label={texts.menu(shortTitleOf(widget))} entries={entries} />}
      </div>
      <div className="widget-body" inert={!isActive}>
        {isSeen && <WidgetBody widget={widget} isTable={isTable} isActive={isActive} />}
      </div>
      {isLarge && (
        <Dialog title={shortTitleOf(widget)} isOpen onClose={() => setLarge(false)} size="full">
          <div className="widget-large">
            <WidgetBody widget={widget} isTable={isTable} isActive={isActive} />
          </div>
        </Dialog>
      )}
    </section>
  )
}
