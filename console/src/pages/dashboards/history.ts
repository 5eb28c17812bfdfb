/** The changes that a user makes in the editor of a dashboard, with undo and redo. */
import { useCallback, useState } from 'react'

const stepsMax = 200

interface Steps<T> {
  before: T[]
  now: T
  after: T[]
  /** Names the last change. If the next change has the same name, undo reverts both changes together: typing in one field is one step. */
  name: string | undefined
}

export interface History<T> {
  now: T
  change(next: (now: T) => T, name?: string): void
  undo(): void
  redo(): void
  canUndo: boolean
  canRedo: boolean
}

export function useHistory<T>(first: T): History<T> {
  const [steps, setSteps] = useState<Steps<T>>({ before: [], now: first, after: [], name: undefined })
  const change = useCallback(
    (next: (now: T) => T, name?: string) =>
      setSteps((steps) => {
        const changed = next(steps.now)
        if (changed === steps.now) return steps
        const joins = name !== undefined && name === steps.name && steps.before.length > 0
        const before = joins ? steps.before : [...steps.before, steps.now].slice(-stepsMax)
        return { before, now: changed, after: [], name }
      }),
    [],
  )
  const undo = useCallback(
    () =>
      setSteps(({ before, now, after, name }) => {
        const last = before.at(-1)
        return last === undefined
          ? { before, now, after, name }
          : { before: before.slice(0, -1), now: last, after: [now, ...after], name: undefined }
      }),
    [],
  )
  const redo = useCallback(
    () =>
      setSteps(({ before, now, after, name }) => {
        const [next, ...rest] = after
        return next === undefined
          ? { before, now, after, name }
          : { before: [...before, now], now: next, after: rest, name: undefined }
      }),
    [],
  )
  return { now: steps.now, change, undo, redo, canUndo: steps.before.length > 0, canRedo: steps.after.length > 0 }
}
