/** Changes an object that was read with an ETag, and reads it again if another caller changed it meanwhile. */
import { useState } from 'react'
import type { ArgumentsOf, BodyOf, CallName } from './operation-types.ts'
import { type Change, type GetResult, type Outcome, useChange } from './query.ts'

export interface Version<T> {
  data: T
  etag: string | undefined
}

export interface ConditionalChange<T, P extends CallName> {
  /** The version that the form shows. Later readings must not hide a change of another caller. */
  base: Version<T>
  /** The version of the other caller, while the conflict is open. */
  theirs: Version<T> | undefined
  /** Saves, if the object still has the version of the form. */
  save(args: ArgumentsOf<P>): Promise<Outcome<BodyOf<P>>>
  /** Saves over the version of the other caller. */
  saveMine(args: ArgumentsOf<P>): Promise<Outcome<BodyOf<P>>>
  /** Makes the version of the other caller that of the form, and returns it. */
  takeTheirs(): T
  close(): void
  change: Pick<Change<P>, 'isRunning' | 'problem'>
}

export function useConditionalChange<T, P extends CallName>(
  name: P,
  first: Version<T>,
  readAgain: GetResult<T>['reload'],
  options: { also?: string[] } = {},
): ConditionalChange<T, P> {
  const [base, setBase] = useState(first)
  const [theirs, setTheirs] = useState<Version<T>>()
  const change = useChange(name, options)
  async function run(args: ArgumentsOf<P>, etag: string | undefined) {
    const outcome = await change.run(args, { ifMatch: etag })
    if (outcome.kind === 'conflict') {
      const read = await readAgain()
      if (read.data) setTheirs({ data: read.data, etag: read.etag })
    }
    return outcome
  }
  return {
    base,
    theirs,
    save: (args) => run(args, base.etag),
    saveMine(args) {
      const { etag } = theirs!
      setTheirs(undefined)
      return run(args, etag)
    },
    takeTheirs() {
      const taken = theirs!
      setBase(taken)
      setTheirs(undefined)
      return taken.data
    },
    close: () => setTheirs(undefined),
    change,
  }
}
