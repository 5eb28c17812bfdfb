/** Keys that work on every page. Keys without Ctrl do nothing while a field has the focus or a dialog or menu is open. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useLocation } from 'wouter'
import { leave } from '../parts/unsaved.ts'

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

const jumps: Record<string, string> = { o: '/', e: '/endpoints', a: '/applications' }
const sequenceMs = 1_000

export function useShortcuts({ onPalette, onShortcuts }: { onPalette(): void; onShortcuts(): void }) {
  const [, navigate] = useLocation()
  const queries = useQueryClient()
  const sequenceStartedAt = useRef(0)
  useEffect(() => {
    const readAgain = () => void queries.refetchQueries({ predicate: ({ state }) => state.status === 'error' })
    const act: Record<string, () => unknown> = {
      '?': onShortcuts,
      '/': () => document.querySelector<HTMLElement>('[data-search]')?.focus(),
      c: () => document.querySelector<HTMLElement>('[data-create] :is(a, button)')?.click(),
      r: readAgain,
    }
    function onKey(event: KeyboardEvent) {
      const { key } = event
      if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === 'k') {
        event.preventDefault()
        return onPalette()
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      if (document.querySelector('[role="dialog"], [role="alertdialog"], [role="menu"]')) return
      if (event.timeStamp - sequenceStartedAt.current < sequenceMs && jumps[key]) {
        sequenceStartedAt.current = 0
        return leave(() => navigate(jumps[key]!))
      }
      if (key === 'g') sequenceStartedAt.current = event.timeStamp
      if (!act[key]) return
      event.preventDefault()
      act[key]!()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [navigate, onPalette, onShortcuts, queries])
}
