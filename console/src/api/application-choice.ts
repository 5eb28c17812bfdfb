/** The applications of the tenant as a choice, for pages that show one application at a time. */
import { useList } from './query.ts'

/** Returns the applications and the chosen one. `chosen` is the name in the address; if it is empty, the first application is chosen. */
export function useApplicationChoice(chosen: string) {
  const list = useList('applications.list', {})
  const known = list.items.map(({ name, displayName }) => ({ value: name, label: displayName ?? name }))
  const application = chosen === '' ? (known[0]?.value ?? '') : chosen
  // The list contains only the first applications. The chosen application is shown even if it is not among them or does not exist.
  const isMissing = application !== '' && !known.some(({ value }) => value === application)
  return {
    application,
    options: isMissing ? [{ value: application, label: application }, ...known] : known,
    versions: list.items.find(({ name }) => name === application)?.versions.map(({ name }) => name) ?? [],
    isEmpty: !list.isLoading && !list.problem && known.length === 0 && application === '',
    isLoading: list.isLoading,
    problem: list.problem,
    reload: list.reload,
  }
}
