/**
 * Grids of the map: level n divides the world into 2^n columns and rows of equal degrees. Places are in millionths of a degree, so all
 * arithmetic uses integers. All functions are pure.
 */
import type { Place } from './document.ts'

/** A rectangle in degrees. If `west` is greater than `east`, the rectangle crosses the antimeridian. */
export interface Rectangle {
  south: number
  west: number
  north: number
  east: number
}

/** A range of columns and rows of a grid. Both ends are included. */
export interface CellRange {
  x0: number
  x1: number
  y0: number
  y1: number
}

/** The levels for which the database stores sums. At finer levels, the endpoints of cells are counted. */
export const keptLevels = [2, 4, 6, 8, 10, 12, 14]
export const keptLevelMax = 14
/** At this level a cell is about a metre high. */
export const levelMax = 24
/** The grid level of the row numbers in the column `band` of the table `places`. */
export const bandLevel = 14

const width = 360_000_000
const height = 180_000_000

const cellsAt = (level: number) => 2 ** level
const clamp = (cell: number, level: number) => Math.max(0, Math.min(cellsAt(level) - 1, cell))

export const columnOf = (longitude: number, level: number) =>
  clamp(Math.floor(((longitude + width / 2) * cellsAt(level)) / width), level)
/** Returns the row of a latitude. The north pole belongs to the last row. */
export const rowOf = (latitude: number, level: number) =>
  clamp(Math.floor(((latitude + height / 2) * cellsAt(level)) / height), level)

export const cellOf = ({ latitude, longitude }: Place, level: number) => ({
  x: columnOf(longitude, level),
  y: rowOf(latitude, level),
})

const micro = (degrees: number) => Math.round(degrees * 1e6)

/** Returns the cells that the rectangle touches: one range, or two ranges if it crosses the antimeridian. */
export function cellRanges({ south, west, north, east }: Rectangle, level: number): CellRange[] {
  const rows = { y0: rowOf(micro(south), level), y1: rowOf(micro(north), level) }
  const columns = (from: number, to: number) => ({
    x0: columnOf(micro(from), level),
    x1: columnOf(micro(to), level),
    ...rows,
  })
  if (west <= east) return [columns(west, east)]
  const [eastern, western] = [columns(west, 180), columns(-180, east)]
  // At coarse levels, both sides of the antimeridian may be in the same column.
  return eastern.x0 <= western.x1 ? [{ ...rows, x0: 0, x1: cellsAt(level) - 1 }] : [eastern, western]
}

export const cellCount = (ranges: CellRange[]) =>
  ranges.reduce((sum, { x0, x1, y0, y1 }) => sum + (x1 - x0 + 1) * (y1 - y0 + 1), 0)

/** Returns the finest level at which the rectangle touches at most `cellsMax` cells. */
export function levelFor(rectangle: Rectangle, cellsMax: number): number {
  let level = 0
  while (level < levelMax && cellCount(cellRanges(rectangle, level + 1)) <= cellsMax) level++
  return level
}

/**
 * Returns the coarsest stored level whose cells can be summed to cells of this level. Returns undefined if the endpoints must be counted.
 */
export const keptLevelFor = (level: number) => keptLevels.find((kept) => kept >= level)

/** Returns the range of a finer or equal level that covers the same area. */
export function finer({ x0, x1, y0, y1 }: CellRange, from: number, to: number): CellRange {
  const factor = 2 ** (to - from)
  return { x0: x0 * factor, x1: (x1 + 1) * factor - 1, y0: y0 * factor, y1: (y1 + 1) * factor - 1 }
}

/** Returns the area of cells in millionths of a degree. The upper ends are excluded, except at the edge of the world. */
export function areaOf({ x0, x1, y0, y1 }: CellRange, level: number) {
  const [cellWidth, cellHeight] = [width / cellsAt(level), height / cellsAt(level)]
  const upperEnd = (cell: number, size: number, half: number) =>
    cell + 1 === cellsAt(level) ? half : Math.ceil((cell + 1) * size - half) - 1
  return {
    west: Math.ceil(x0 * cellWidth - width / 2),
    east: upperEnd(x1, cellWidth, width / 2),
    south: Math.ceil(y0 * cellHeight - height / 2),
    north: upperEnd(y1, cellHeight, height / 2),
  }
}
