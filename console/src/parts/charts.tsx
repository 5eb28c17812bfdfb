import { Suspense } from 'react'
import { Loading } from './card.tsx'
import type { ChartProps } from './chart.tsx'
import { lazyFile } from './lazy-file.tsx'
import { texts } from './texts.ts'

const LazyChart = lazyFile(() => import('./chart.tsx'))

/** The chart, loaded when it is first shown. */
export const Chart = (props: ChartProps) => (
  <Suspense fallback={<Loading label={texts.loading} lines={5} />}>
    <LazyChart {...props} />
  </Suspense>
)
