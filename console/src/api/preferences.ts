/** The preferences of the caller, which the platform stores. */
import type { BodyOf } from './operation-types.ts'
import { useChange, useGet } from './query.ts'

export type Preferences = BodyOf<'me.preferences.get'>

export function usePreferences() {
  const read = useGet('me.preferences.get', {})
  const change = useChange('me.preferences.update')
  /**
   * Changes some preferences; the value undefined removes a preference. Other preferences are not changed, even if another tab has changed
   * them meanwhile.
   */
  async function save(changed: { [K in keyof Preferences]: Preferences[K] | undefined }): Promise<boolean> {
    for (let attempt = 0; attempt < 3; attempt++) {
      const { data, etag } = attempt === 0 ? read : await read.reload()
      const body = Object.fromEntries(
        Object.entries({ ...data, ...changed }).filter(([, value]) => value !== undefined),
      ) as Preferences
      const outcome = await change.run({ body }, { ifMatch: etag })
      if (outcome.kind !== 'conflict') return outcome.kind === 'done'
    }
    return false
  }
  return { ...read, save, isSaving: change.isRunning, saveProblem: change.problem }
}
