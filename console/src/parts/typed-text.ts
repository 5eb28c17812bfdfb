/** Detects text that was typed into the fields of an element, including fields that no form reports. */
import { type RefObject, useEffect, useRef } from 'react'

const isText = (element: EventTarget | null): element is HTMLElement =>
  element instanceof HTMLElement &&
  (element.isContentEditable || element.matches('textarea, input')) &&
  // The text of a search field does not count as unsaved input.
  !element.matches('[type=search], [role=combobox], [role=searchbox]')

const textOf = (element: HTMLElement) =>
  element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement ? element.value : element.textContent

/** Returns a function that returns whether the text of a field has changed since the user began to type, or since a form was sent. */
export function useTypedText(within: RefObject<HTMLElement | null>, isActive: boolean): () => boolean {
  const before = useRef(new Map<HTMLElement, string | null>())
  useEffect(() => {
    if (!isActive) return
    const texts = before.current
    const remember = ({ target }: Event) => {
      if (isText(target) && within.current?.contains(target) && !texts.has(target)) texts.set(target, textOf(target))
    }
    const forget = ({ target }: Event) => {
      if (target instanceof Node && within.current?.contains(target)) texts.clear()
    }
    document.addEventListener('beforeinput', remember, true)
    document.addEventListener('submit', forget, true)
    return () => {
      texts.clear()
      document.removeEventListener('beforeinput', remember, true)
      document.removeEventListener('submit', forget, true)
    }
  }, [within, isActive])
  return () => [...before.current].some(([element, text]) => element.isConnected && textOf(element) !== text)
}
