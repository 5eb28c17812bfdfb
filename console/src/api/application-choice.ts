/** The applications of the tenant as a choice, for pages that show one application at a time. */
import { useEffect, useRef } from 'react'
import { useApplications } from './applications.ts'

/**
 * The application that the user chose last, on any page in this browser tab. A page that is opened without an application shows this
 * application.
 */
let lastChosen = ''

interface ChoiceAddress {
  values: { application: string }
  set(changed: { application: string }): void
}

/**
 * Remembers the application in the address. If a page is opened without an application, the remembered application is added to its address.
 */
function useRemembered({ values: { application }, set }: ChoiceAddress, known: readonly string[]) {
  const hadOne = useRef(false)
  const remembered = known.includes(lastChosen) ? lastChosen : ''
  useEffect(() => {
    if (application !== '') lastChosen = application
    // The user has removed the application from the address. If this variable kept the application, the effect would add it to the address
    // again immediately.
    else if (hadOne.current) lastChosen = ''
    else if (remembered !== '') set({ application: remembered })
    hadOne.current = application !== ''
  }, [application, remembered, set])
}

/**
 * Returns the applications and the chosen application: the application in the address, else the application that was chosen last, else the
 * first.
 */
export function useApplicationChoice(address: ChoiceAddress) {
  const list = useApplications()
  const chosen = address.values.application
  const known = list.items.map(({ name, displayName }) => ({ value: name, label: displayName ?? name }))
  useRemembered(
    address,
    known.map(({ value }) => value),
  )
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
