/** Says above every page when the platform cannot be reached or a newer console is there. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { hasNewerBuild } from '../api/build.ts'
import { isTemporary, problemOf } from '../api/problems.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icons.tsx'
import type { Problem } from '../parts/problem.ts'
import { texts } from './texts.ts'

const checkMs = 60_000

/** The problem that the requests of the page have at the moment, if waiting helps against it. */
function useConnectionProblem(): Problem | undefined {
  const cache = useQueryClient().getQueryCache()
  const find = () => {
    for (const { state } of cache.getAll())
      if (state.status === 'error' && state.error && isTemporary(problemOf(state.error))) return state.error
    return undefined
  }
  const error = useSyncExternalStore((listener) => cache.subscribe(listener), find)
  return error ? problemOf(error) : undefined
}

function useOnline(): boolean {
  return useSyncExternalStore(
    (listener) => {
      addEventListener('online', listener)
      addEventListener('offline', listener)
      return () => {
        removeEventListener('online', listener)
        removeEventListener('offline', listener)
      }
    },
    () => navigator.onLine,
  )
}

/** Asks now and then, and when the tab is opened again. */
function useNewerBuild(): boolean {
  const [isNewer, setNewer] = useState(false)
  useEffect(() => {
    const check = () => {
      if (document.visibilityState === 'visible') void hasNewerBuild().then(setNewer)
    }
    const timer = setInterval(check, checkMs)
    document.addEventListener('visibilitychange', check)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', check)
    }
  }, [])
  return isNewer
}

export function Banners() {
  const queries = useQueryClient()
  const isOnline = useOnline()
  const problem = useConnectionProblem()
  const isNewer = useNewerBuild()
  const readAgain = () => void queries.refetchQueries({ predicate: ({ state }) => state.status === 'error' })
  return (
    <section className="banners" aria-label={texts.banner} aria-live="polite">
      {!isOnline && (
        <div className="banner banner-warn">
          <Icon name="unplug" />
          <p>{texts.offline}</p>
        </div>
      )}
      {isOnline && problem && (
        <div className="banner banner-warn">
          <Icon name="alert" />
          <p>
            {problem.message} {texts.retrying}
          </p>
          <Button size="small" icon="refresh" onPress={readAgain}>
            {texts.tryAgain}
          </Button>
        </div>
      )}
      {isNewer && (
        <div className="banner banner-info">
          <Icon name="info" />
          <p>{texts.newer}</p>
          <Button size="small" onPress={() => location.reload()}>
            {texts.reload}
          </Button>
        </div>
      )}
    </section>
  )
}
