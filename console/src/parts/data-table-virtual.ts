/** The rows of the data table that are in the document: the visible rows, and some above and below. */
import { elementScroll, type Rect, useVirtualizer, type Virtualizer } from '@tanstack/react-virtual'
import { type RefObject, useEffect, useState } from 'react'

const rowHeight = 44
/** Number of rows that are rendered above and below the visible rows. */
export const overscan = 8
/** Height of the table as a share of the window's height. It is an estimate, used until the height of the table is measured. */
const initialPart = 0.6

export function useVisibleRows(
  scroller: RefObject<HTMLDivElement | null>,
  count: number,
  keyOf: (index: number) => string,
): Virtualizer<HTMLDivElement, Element> {
  const isPainted = useIsPainted(count > 0)
  return useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: keyOf,
    overscan: isPainted ? overscan : 0,
    initialRect: { width: 0, height: globalThis.innerHeight * initialPart },
    measureElement: measureLater,
    observeElementRect: observeSize,
    observeElementOffset: observeScrolling,
    scrollToFn: scrollIfElsewhere,
  })
}

/**
 * Returns whether the first frame with rows is painted. Until then, the rows above and below the visible rows are not rendered, so that
 * this frame is painted sooner.
 */
function useIsPainted(hasRows: boolean): boolean {
  const [isPainted, setPainted] = useState(false)
  useEffect(() => {
    if (!hasRows) return
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => setPainted(true))
    })
    return () => cancelAnimationFrame(frame)
  }, [hasRows])
  return isPainted
}

/** Observes the size of the table. Unlike the function of the library, it does not force the browser to compute the layout immediately. */
function observeSize({ scrollElement }: Virtualizer<HTMLDivElement, Element>, onSize: (size: Rect) => void) {
  if (!scrollElement) return
  const observer = new ResizeObserver(([entry]) => {
    const size = entry?.borderBoxSize[0]
    if (size) onSize({ width: Math.round(size.inlineSize), height: Math.round(size.blockSize) })
  })
  observer.observe(scrollElement)
  return () => observer.disconnect()
}

/**
 * Scrolls the table only if its position changes, because scrolling forces the browser to compute the layout immediately. A new table
 * already has the right position.
 */
const scrollIfElsewhere: typeof elementScroll = (offset, options, table) => {
  if (offset + (options.adjustments ?? 0) !== (table.scrollOffset ?? 0)) elementScroll(offset, options, table)
}

const scrollEndMs = 150

/** Observes the scroll position of the table. The position of a new table is 0, so the first position is not read from the element. */
function observeScrolling(
  { scrollElement }: Virtualizer<HTMLDivElement, Element>,
  onOffset: (offset: number, isScrolling: boolean) => void,
) {
  if (!scrollElement) return
  let timer: ReturnType<typeof setTimeout> | undefined
  const onScroll = () => {
    onOffset(scrollElement.scrollTop, true)
    clearTimeout(timer)
    timer = setTimeout(() => onOffset(scrollElement.scrollTop, false), scrollEndMs)
  }
  scrollElement.addEventListener('scroll', onScroll, { passive: true })
  return () => {
    clearTimeout(timer)
    scrollElement.removeEventListener('scroll', onScroll)
  }
}

/**
 * Returns the height of a row from the size observer. Reading it from the row would compute the layout once more before the first frame.
 */
function measureLater<S extends Element, T extends Element>(
  element: T,
  entry: ResizeObserverEntry | undefined,
  table: Virtualizer<S, T>,
): number {
  const size = entry?.borderBoxSize[0]
  if (size) return Math.round(size.blockSize)
  const index = table.indexFromElement(element)
  return table.measurementsCache[index]?.size ?? table.options.estimateSize(index)
}
