/**
 * Keeps track of unsaved input. While there is unsaved input, links, tabs, the back button and closing the browser tab ask for confirmation
 * first. The page then also stays open when permissions are withdrawn or the session ends.
 */
import { createContext, useEffect, useSyncExternalStore } from 'react'

const forms = new Set<symbol>()
const listeners = new Set<() => void>()
/** An action that would discard input, and waits until the user agrees. */
interface PendingLeave {
  action(): void
  from: 'page' | 'dialog'
  /** The forms whose contents the action discards. */
  forms: symbol[]
}

let pending: PendingLeave | undefined

const askBrowser = (event: BeforeUnloadEvent) => event.preventDefault()

function notify() {
  // The listener is registered only while it is needed, because it keeps pages out of the back/forward cache of some browsers.
  if (forms.size > 0) addEventListener('beforeunload', askBrowser)
  else removeEventListener('beforeunload', askBrowser)
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Reports that the component has unsaved input. `useForm` and `useJsonDraft` call this function themselves. */
export function useUnsaved(isUnsaved: boolean) {
  useEffect(() => {
    if (!isUnsaved) return
    const form = Symbol('form')
    forms.add(form)
    notify()
    return () => {
      if (forms.delete(form)) notify()
    }
  }, [isUnsaved])
}

/** Returns whether the page has unsaved input. */
export const useHasUnsaved = () => useSyncExternalStore(subscribe, () => forms.size > 0)

function ask(asked: PendingLeave) {
  pending = asked
  notify()
}

/** Runs an action that leaves the page: immediately, or after the user agrees to lose the input. */
export function leave(action: () => void) {
  if (forms.size === 0) return action()
  ask({ action, from: 'page', forms: [...forms] })
}

/** A function that runs an action which discards the input of the page, or of the surrounding dialog. `CancelButton` uses it. */
export const LeaveContext = createContext<(action: () => void) => void>(leave)

/** Returns the forms that currently have unsaved input. */
export const formsWithText = (): ReadonlySet<symbol> => new Set(forms)

/**
 * Closes a dialog immediately, or after the user agrees. `before` contains the forms of the page behind the dialog, which are not
 * discarded.
 */
export function leaveDialog(action: () => void, before: ReadonlySet<symbol>) {
  const own = [...forms].filter((form) => !before.has(form))
  if (own.length === 0) return action()
  ask({ action, from: 'dialog', forms: own })
}

/** Returns the action that waits for the user, if any. */
export const usePendingLeave = () => useSyncExternalStore(subscribe, () => pending)

/** Discards the input and runs the pending action. If no action is pending, the input of all forms is discarded. */
export function discardUnsaved() {
  const agreed = pending
  pending = undefined
  for (const form of agreed?.forms ?? forms) forms.delete(form)
  notify()
  agreed?.action()
}

export function stayOnPage() {
  pending = undefined
  notify()
}

const viewOf = ({ pathname, search }: { pathname: string; search: string }) => pathname + search

function askAtLink(event: MouseEvent) {
  if (forms.size === 0 || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href]') : null
  if (!link || link.target === '_blank' || link.hasAttribute('download') || link.origin !== location.origin) return
  if (viewOf(link) === viewOf(location)) return
  event.preventDefault()
  event.stopPropagation()
  leave(() => link.click())
}

/** Watches links and the back button. Call it once, before the router registers its listeners. */
export function guardNavigation() {
  let shown = location.href
  const remember = () => {
    shown = location.href
  }
  addEventListener('click', askAtLink, true)
  addEventListener('pushState', remember)
  addEventListener('replaceState', remember)
  addEventListener(
    'popstate',
    (event) => {
      if (forms.size === 0 || viewOf(new URL(shown)) === viewOf(location)) return remember()
      // A page cannot cancel the back button, so the entry of this page is added to the history again.
      event.stopImmediatePropagation()
      history.pushState(history.state, '', shown)
      leave(() => history.back())
    },
    true,
  )
}
