/** Reads lists and objects again when the live stream delivers an event: immediately, and then at most once a second. */
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef } from 'react'
import { type LiveState, type LiveTopic, useLive } from './live.ts'

/** Returns a function that immediately reads the lists and objects of nouns of the API again: `reread('alerts')`. */
export function useReread(): (...nouns: string[]) => void {
  const queries = useQueryClient()
  return useCallback(
    (...nouns) => {
      for (const noun of nouns) void queries.invalidateQueries({ queryKey: [noun] })
    },
    [queries],
  )
}

const everyMs = 1_000

interface RefreshOptions {
  enabled?: boolean
  /** Called with the items of each event. An event has only the newest item, because all items are read again anyway. */
  onItems?(items: unknown[], topic: string): void
}

/** Reads lists and objects again after each event of these topics, while the component is shown: `useRefresh(topics, ['traffic'])`. */
export function useRefresh(topics: LiveTopic[], nouns: string[], options: RefreshOptions = {}): LiveState {
  const queries = useQueryClient()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const isWanted = useRef(false)
  useEffect(() => () => clearTimeout(timer.current), [])
  const refresh = () => {
    isWanted.current = true
    if (timer.current !== undefined) return
    isWanted.current = false
    for (const noun of nouns) void queries.invalidateQueries({ queryKey: [noun] })
    timer.current = setTimeout(() => {
      timer.current = undefined
      if (isWanted.current) refresh()
    }, everyMs)
  }
  const onItems = (items: unknown[], topic: string) => {
    options.onItems?.(items, topic)
    refresh()
  }
  const newest = topics.map((topic) => ({ ...topic, newestOnly: true }))
  return useLive(newest, { onItems, onGap: refresh }, options)
}
