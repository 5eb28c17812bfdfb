/** Detects text that was typed into the fields of an element, including fields that no form reports. */
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'

const isText = (element: EventTarget | null): element is HTMLElement =>
  element instanceof HTMLElement &&
  (element.isContentEditable || element.matches('textarea, input')) &&
  // The text of a search field does not count as unsaved input.
  !element.matches('[type=search], [role=combobox], [role=searchbox]')

const textOf = (element: HTMLElement) =>
  element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement ? element.value : element.textContent

/** Returns whether the text of a field has changed since the user began to type, or since a form was sent. */
export function useTypedText(within: RefObject<HTMLElement | null>, isActive: boolean) {
  const before = useRef(new Map<HTMLElement, string | null>())
  const [hasTyped, setTyped] = useState(false)
  const compare = useCallback(
    () => setTyped([...before.current].some(([element, text]) => element.isConnected && textOf(element) !== text)),
    [],
  )
  useEffect(() => {
    if (!isActive) return
    const texts = before.current
    const remember = ({ target }: Event) => {
      if (isText(target) && within.current?.contains(target) && !texts.has(target)) texts.set(target, textOf(target))
    }
    const forget = ({ target }: Event) => {
      if (!(target instanceof Node && within.current?.contains(target))) return
      texts.clear()
      setTyped(false)
    }
    document.addEventListener('beforeinput', remember, true)
    // The comparison waits until React has handled the event, because a rendering before that would reset the field.
    const compareLater = () => void setTimeout(compare)
    document.addEventListener('input', compareLater, true)
    document.addEventListener('submit', forget, true)
    return () => {
      texts.clear()
      setTyped(false)
      document.removeEventListener('beforeinput', remember, true)
      document.removeEventListener('input', compareLater, true)
      document.removeEventListener('submit', forget, true)
    }
  }, [within, isActive, compare])
  // The fields are also compared after each rendering, because a dialog may show a result instead of its fields after saving.
  useEffect(compare)
  // A part of the dialog may have emptied a field after the last comparison. `compareNow` therefore compares again.
  return { hasTyped, compareNow: () => flushSync(compare) }
}
