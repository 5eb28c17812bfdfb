/** The widgets of a dashboard while it is edited. Each widget has a handle for the keyboard, and a heading and a corner for the mouse. */
import { type KeyboardEvent, useRef } from 'react'
import { IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icons.tsx'
import type { Widget } from './definition.ts'
import { useDrag } from './drag.ts'
import { editTexts as texts } from './edit-texts.ts'
import { placeStyle } from './grid.tsx'
import { fitted, placed, type Rectangle } from './layout.ts'
import { shortTitleOf, WidgetView } from './widget.tsx'

export interface EditGridProps {
  widgets: readonly Widget[]
  chosen: string | undefined
  onChoose(id: string): void
  /** `step` is true for a move by keyboard. Undo reverts consecutive steps together. */
  onPlace(id: string, rectangle: Rectangle, step?: boolean): void
  onRemove(id: string): void
}

const rectangleOf = ({ x, y, width, height }: Widget): Rectangle => ({ x, y, width, height })

/** Returns the rectangle of a widget after a key that moves or resizes it; undefined for other keys. */
function afterKey({ key, shiftKey }: KeyboardEvent, { x, y, width, height }: Rectangle): Rectangle | undefined {
  const steps: Record<string, [number, number]> = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
  }
  const step = steps[key]
  if (!step) return undefined
  return shiftKey
    ? { x, y, width: Math.min(24 - x, width + step[0]), height: height + step[1] }
    : { x: x + step[0], y: y + step[1], width, height }
}

export function EditGrid({ widgets, chosen, onChoose, onPlace, onRemove }: EditGridProps) {
  const grid = useRef<HTMLDivElement>(null)
  const drag = useDrag(grid, {
    rectangleOf: (id) => {
      const widget = widgets.find((one) => one.id === id)
      return widget && rectangleOf(widget)
    },
    onDrop: onPlace,
    onChoose,
  })
  // Widgets are rendered in the order of the definition, because an element that moves within the document would lose the focus.
  const shown = drag ? placed(widgets, drag.id, drag.rectangle) : widgets
  const handleKey = (event: KeyboardEvent, widget: Widget) => {
    const next = afterKey(event, widget)
    if (next) onPlace(widget.id, fitted(next), true)
    else if (event.key === 'Delete' || event.key === 'Backspace') onRemove(widget.id)
    else if (event.key === 'Enter' || event.key === ' ') onChoose(widget.id)
    else return
    event.preventDefault()
  }
  return (
    <div className="dashboard is-edited">
      <div ref={grid} className="dashboard-grid" data-dragging={drag ? '' : undefined}>
        {shown.map((widget) => {
          const title = shortTitleOf(widget)
          return (
            <div
              key={widget.id}
              className="dashboard-cell"
              style={placeStyle(widget)}
              data-widget={widget.id}
              data-chosen={widget.id === chosen || undefined}
              data-dragged={widget.id === drag?.id || undefined}
            >
              <WidgetView
                widget={widget}
                isActive={false}
                controls={
                  <span className="widget-tools">
                    <button
                      type="button"
                      className="icon-button widget-handle"
                      data-handle=""
                      aria-label={texts.handle(title)}
                      aria-describedby="dashboard-edit-help"
                      onKeyDown={(event) => handleKey(event, widget)}
                    >
                      <Icon name="grip" />
                    </button>
                    <IconButton icon="gear" label={texts.configure(title)} onPress={() => onChoose(widget.id)} />
                    <IconButton icon="trash" label={texts.remove(title)} onPress={() => onRemove(widget.id)} />
                  </span>
                }
              />
              <span className="widget-corner" data-resize="" aria-hidden="true" />
            </div>
          )
        })}
      </div>
    </div>
  )
}
