/**
 * Keeps track of typed text that is not saved. While there is some, links, the back button, tabs and closing the browser tab ask for
 * confirmation first, and the page stays open when permissions are withdrawn or the session ends.
 */
import { useEffect, useSyncExternalStore } from 'react'

const forms = new Set<symbol>()
const listeners = new Set<() => void>()
/** Leaves the page once the user agrees. */
let pending: (() => void) | undefined

const askBrowser = (event: BeforeUnloadEvent) => event.preventDefault()

function notify() {
  // A listener of this event keeps pages out of the cache of some browsers, so it is there only while it is needed.
  if (forms.size > 0) addEventListener('beforeunload', askBrowser)
  else removeEventListener('beforeunload', askBrowser)
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Reports that the component holds something typed. `useForm` and `useJsonDraft` do so themselves. */
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

/** Returns whether the page has something typed that is not saved. */
export const useHasUnsaved = () => useSyncExternalStore(subscribe, () => forms.size > 0)

/** Runs an action that leaves the page: at once, or after the user agrees to lose what was typed. */
export function leave(action: () => void) {
  if (forms.size === 0) return action()
  pending = action
  notify()
}

/** Returns the action that waits for the user, if any. */
export const usePendingLeave = () => useSyncExternalStore(subscribe, () => pending)

/** Discards what was typed, and leaves the page if that is pending. */
export function discardUnsaved() {
  const action = pending
  pending = undefined
  forms.clear()
  notify()
  action?.()
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
  // The links beside the button that saves are there to discard what was typed.
  if (viewOf(link) === viewOf(location) || link.closest('.form-actions')) return
  event.preventDefault()
  event.stopPropagation()
  leave(() => link.click())
}

/** Watches links and the back button. Call it once, before the router listens. */
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
      // A browser does not let a page refuse the back button, so the entry of this page is made again.
      event.stopImmediatePropagation()
      history.pushState(history.state, '', shown)
      leave(() => history.back())
    },
    true,
  )
}
