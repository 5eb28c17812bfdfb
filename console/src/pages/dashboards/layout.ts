/** Places of widgets on the grid of 24 columns. All functions are pure: they return new widgets and do not change their arguments. */

export interface Placed {
  id: string
  x: number
  y: number
  width: number
  height: number
}

export type Rectangle = Pick<Placed, 'x' | 'y' | 'width' | 'height'>

const columns = 24
const rowsMax = 2000
const heightMax = 200

const overlap = (a: Rectangle, b: Rectangle) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height

const clamp = (value: number, low: number, high: number) => Math.max(low, Math.min(high, Math.round(value)))

/** Returns the nearest rectangle that the grid allows. */
export function fitted({ x, y, width, height }: Rectangle): Rectangle {
  const fittedWidth = clamp(width, 1, columns)
  return {
    x: clamp(x, 0, columns - fittedWidth),
    y: clamp(y, 0, rowsMax),
    width: fittedWidth,
    height: clamp(height, 1, heightMax),
  }
}

const comparePositions = (a: Rectangle, b: Rectangle) => a.y - b.y || a.x - b.x

/** Moves or resizes a widget. Widgets that it would overlap move down. */
export function placed<T extends Placed>(widgets: readonly T[], id: string, rectangle: Rectangle): T[] {
  const target = fitted(rectangle)
  const settled: Rectangle[] = [target]
  const places = new Map<string, Rectangle>([[id, target]])
  for (const widget of widgets.filter((one) => one.id !== id).sort(comparePositions)) {
    const place = { x: widget.x, y: widget.y, width: widget.width, height: widget.height }
    for (let hit = hitOf(place, settled); hit; hit = hitOf(place, settled)) place.y = hit.y + hit.height
    settled.push(place)
    places.set(widget.id, place)
  }
  // The grid has a maximum height. If a widget would move below the end of the grid, no widget moves.
  if ([...places.values()].some(({ y }) => y > rowsMax)) return [...widgets]
  return widgets.map((widget) => ({ ...widget, ...places.get(widget.id) }))
}

const hitOf = (place: Rectangle, settled: Rectangle[]) => settled.find((other) => overlap(place, other))

/** Returns the first place, from the top, where a widget fits. */
export function freePlace(widgets: readonly Rectangle[], { width, height }: Pick<Rectangle, 'width' | 'height'>) {
  const bottom = Math.max(0, ...widgets.map((one) => one.y + one.height))
  for (let y = 0; y < bottom; y++)
    for (let x = 0; x + width <= columns; x++) {
      const place = { x, y, width, height }
      if (!widgets.some((other) => overlap(place, other))) return place
    }
  return { x: 0, y: bottom, width, height }
}

/** Moves every widget up as far as possible, so that there are no gaps. */
export function compacted<T extends Placed>(widgets: readonly T[]): T[] {
  const settled: Rectangle[] = []
  const places = new Map<string, Rectangle>()
  for (const widget of [...widgets].sort(comparePositions)) {
    const place = { x: widget.x, y: widget.y, width: widget.width, height: widget.height }
    while (place.y > 0 && !settled.some((other) => overlap({ ...place, y: place.y - 1 }, other))) place.y--
    for (let hit = hitOf(place, settled); hit; hit = hitOf(place, settled)) place.y = hit.y + hit.height
    settled.push(place)
    places.set(widget.id, place)
  }
  return widgets.map((widget) => ({ ...widget, ...places.get(widget.id) }))
}

/** Returns the widgets in reading order: from top to bottom, then from left to right. */
export const inOrder = <T extends Placed>(widgets: readonly T[]): T[] => [...widgets].sort(comparePositions)
