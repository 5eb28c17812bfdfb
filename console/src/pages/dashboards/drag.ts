/**
 * Moves and resizes widgets with a pointer, with one listener on the grid. Dragging a heading moves a widget, dragging a corner resizes it,
 * and a click selects it.
 */
import { type RefObject, useEffect, useRef, useState } from 'react'
import type { Rectangle } from './layout.ts'

export interface Drag {
  id: string
  rectangle: Rectangle
}

export interface DragHandlers {
  rectangleOf(id: string): Rectangle | undefined
  onDrop(id: string, rectangle: Rectangle): void
  onChoose(id: string): void
}

const columns = 24
/** Height of a row in pixels, including the gap below it. The style sheet has the same height. */
export const rowPixels = 40
const moveMin = 4

interface Start {
  id: string
  isResize: boolean
  rectangle: Rectangle
  x: number
  y: number
}

/** Returns the position of the pointer within the grid, which stays correct while the page scrolls. */
const positionIn = (grid: HTMLElement, { clientX, clientY }: PointerEvent) => {
  const { left, top } = grid.getBoundingClientRect()
  return { x: clientX - left, y: clientY - top }
}

/**
 * Returns whether the grid shows columns. On a narrow screen widgets are placed one below the other, and can be moved only by keyboard or
 * by number fields.
 */
const hasColumns = (grid: HTMLElement) => getComputedStyle(grid).gridTemplateColumns.split(' ').length === columns

/** Returns the widget that is being moved or resized, with the rectangle that it would get. Undefined while there is no such widget. */
export function useDrag(grid: RefObject<HTMLElement | null>, handlers: DragHandlers): Drag | undefined {
  const [drag, setDrag] = useState<Drag>()
  const latest = useRef(handlers)
  latest.current = handlers
  useEffect(() => {
    const element = grid.current
    if (!element) return
    let start: Start | undefined
    let current: Drag | undefined
    const show = (next: Drag | undefined) => {
      current = next
      setDrag(next)
    }
    const rectangleAt = (event: PointerEvent, { isResize, rectangle, x, y }: Start): Rectangle => {
      const at = positionIn(element, event)
      const right = Math.round((at.x - x) / (element.clientWidth / columns))
      const down = Math.round((at.y - y) / rowPixels)
      return isResize
        ? {
            ...rectangle,
            width: Math.max(1, Math.min(columns - rectangle.x, rectangle.width + right)),
            height: Math.max(1, rectangle.height + down),
          }
        : { ...rectangle, x: rectangle.x + right, y: rectangle.y + down }
    }
    const down = (event: PointerEvent) => {
      const target = event.target as HTMLElement
      const id = target.closest<HTMLElement>('[data-widget]')?.dataset.widget
      const rectangle = id === undefined ? undefined : latest.current.rectangleOf(id)
      const isControl = target.closest('button:not([data-handle]), a, input') !== null
      if (id === undefined || !rectangle || event.button !== 0 || isControl || !hasColumns(element)) return
      const isResize = target.closest('[data-resize]') !== null
      if (!isResize && target.closest('.widget-head') === null) return
      start = { id, isResize, rectangle, ...positionIn(element, event) }
      element.setPointerCapture(event.pointerId)
      event.preventDefault()
    }
    const move = (event: PointerEvent) => {
      if (!start) return
      const at = positionIn(element, event)
      if (!current && Math.hypot(at.x - start.x, at.y - start.y) < moveMin) return
      show({ id: start.id, rectangle: rectangleAt(event, start) })
    }
    const up = () => {
      if (start && current) latest.current.onDrop(current.id, current.rectangle)
      else if (start) latest.current.onChoose(start.id)
      start = undefined
      show(undefined)
    }
    const cancel = () => {
      start = undefined
      show(undefined)
    }
    const cancelByKey = (event: KeyboardEvent) => event.key === 'Escape' && cancel()
    element.addEventListener('pointerdown', down)
    element.addEventListener('pointermove', move)
    element.addEventListener('pointerup', up)
    element.addEventListener('pointercancel', cancel)
    addEventListener('keydown', cancelByKey)
    return () => {
      element.removeEventListener('pointerdown', down)
      element.removeEventListener('pointermove', move)
      element.removeEventListener('pointerup', up)
      element.removeEventListener('pointercancel', cancel)
      removeEventListener('keydown', cancelByKey)
    }
  }, [grid])
  return drag
}
