import { Suspense } from 'react'
import { Loading } from './card.tsx'
import { lazyFile } from './lazy-file.tsx'
import { texts } from './texts.ts'
import type { WorldMapProps } from './world-map.tsx'

const LazyMap = lazyFile(() => import('./world-map.tsx'))

/** A map of the world with places, loaded when it is first shown. It needs no internet access. */
export const WorldMap = (props: WorldMapProps) => (
  <Suspense fallback={<Loading label={texts.loading} lines={8} />}>
    <LazyMap {...props} />
  </Suspense>
)
