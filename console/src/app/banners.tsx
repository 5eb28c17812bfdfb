/** Shows banners above every page, for example when the platform cannot be reached or has a newer console. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { readBuildState } from '../api/build.ts'
import { useSession } from '../api/client.ts'
import { useInterruption } from '../api/live.ts'
import { isTemporary, problemOf } from '../api/problems.ts'
import { formatSeconds } from '../parts/amounts.tsx'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icons.tsx'
import type { Problem } from '../parts/problem.ts'
import { cut } from '../parts/text.tsx'
import { texts } from './texts.ts'

const checkMs = 60_000

/** Returns the current problem of the requests of the page, if it is temporary. */
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

/** Checks for a newer build at an interval, and when the tab becomes visible again. */
function useNewerBuild(): boolean {
  const [isNewer, setNewer] = useState(false)
  useEffect(() => {
    const check = () => {
      if (document.visibilityState === 'visible')
        void readBuildState().then((build) => build !== 'unknown' && setNewer(build === 'newer'))
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

/** A banner is shown after this time, so that short interruptions, such as the restart of a node, cause no banner. */
const showAfterMs = 2_000

function useLongInterruption(): string | undefined {
  const reason = useInterruption()
  const [shown, setShown] = useState<string>()
  useEffect(() => {
    const timer = setTimeout(() => setShown(reason), reason === undefined ? 0 : showAfterMs)
    return () => clearTimeout(timer)
  }, [reason])
  return shown
}

/** Maximum difference between the clocks of the computer and the platform without a banner. Smaller differences do not matter to users. */
const clockSecondsMax = 120

export function Banners() {
  const queries = useQueryClient()
  const isOnline = useOnline()
  const problem = useConnectionProblem()
  const interruption = useLongInterruption()
  const secondsAhead = useSession().session.secondsAhead()
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
          <p>{texts.retryingAfter(problem.message)}</p>
          <Button size="small" icon="refresh" onPress={readAgain}>
            {texts.tryAgain}
          </Button>
        </div>
      )}
      {isOnline && !problem && interruption !== undefined && (
        <div className="banner banner-warn">
          <Icon name="unplug" />
          <p>{texts.streamCut(cut(interruption, 200).shown)}</p>
        </div>
      )}
      {Math.abs(secondsAhead) > clockSecondsMax && (
        <div className="banner banner-warn">
          <Icon name="clock" />
          <p>{texts.clock(formatSeconds(Math.abs(secondsAhead)), secondsAhead < 0)}</p>
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
