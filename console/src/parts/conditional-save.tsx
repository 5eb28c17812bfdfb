/** Saves an object with If-Match. If another caller changed the object meanwhile, a dialog shows both versions, and no input is lost. */
import { type ReactNode, useEffect, useState } from 'react'
import { ConflictDialog } from './conflict-dialog.tsx'
import type { ComparedField } from './merge.ts'

/** A stored object, as `useGet` and its `reload` return it. */
export interface Version<T> {
  data: T | undefined
  etag: string | undefined
}

export type SaveOutcome = 'done' | 'failed' | 'conflict'

export interface ConditionalSaveOptions<T> {
  /**
   * ETag of the object when editing began; undefined for a new object. Later values are ignored, because they would hide a change of
   * another caller.
   */
  etag: string | undefined
  /** Saves the input. Returns the outcome of the change: `(await change.run(…, { ifMatch })).kind`. */
  save(ifMatch: string | undefined): Promise<SaveOutcome>
  /** Reads the object again after a conflict. */
  readAgain?: (() => Promise<Version<T>>) | undefined
  /** Returns the fields that differ, with the values of both versions. */
  compare(theirs: T): ComparedField[]
  /** Merges the changes of the other caller into the input before it is saved, except changes that contradict the input (merge.ts). */
  onMerge(theirs: T): void
  /** Replaces the input by the version of the other caller. */
  onTake(theirs: T): void
  onDone(): void
}

export interface ConditionalSave {
  save(): Promise<void>
  /** The dialog about a conflict, which the page must render. */
  dialog: ReactNode
}

export function useConditionalSave<T>(options: ConditionalSaveOptions<T>): ConditionalSave {
  const { save, readAgain, compare, onMerge, onTake, onDone } = options
  const [etag, setEtag] = useState(options.etag)
  const [theirs, setTheirs] = useState<Version<T> & { data: T }>()
  // The merged input is saved in the next rendering, because `save` of this rendering still has the input from before the merge.
  const [merged, setMerged] = useState<{ etag: string | undefined }>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: once after each merge
  useEffect(() => {
    if (!merged) return
    setMerged(undefined)
    void run(merged.etag)
  }, [merged])
  async function run(ifMatch: string | undefined) {
    const outcome = await save(ifMatch)
    if (outcome === 'done') onDone()
    if (outcome !== 'conflict') return
    const now = await readAgain?.()
    if (now?.data !== undefined) setTheirs({ data: now.data, etag: now.etag })
  }
  /** Closes the dialog. The next save is based on the version of the other caller. */
  function decide({ etag }: Version<T>) {
    setEtag(etag)
    setTheirs(undefined)
  }
  return {
    save: () => run(etag),
    dialog: theirs && (
      <ConflictDialog
        isOpen
        fields={compare(theirs.data)}
        onKeepYours={() => {
          decide(theirs)
          onMerge(theirs.data)
          setMerged({ etag: theirs.etag })
        }}
        onTakeTheirs={() => {
          decide(theirs)
          onTake(theirs.data)
        }}
        onClose={() => setTheirs(undefined)}
      />
    ),
  }
}
