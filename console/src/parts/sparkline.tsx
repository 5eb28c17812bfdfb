/** A small chart of the last values of a series. It is decoration only, because the newest value is shown beside it. */

const [width, height] = [120, 28]

/** The chart. If `isWide` is true, it is as wide as its container. */
export function Sparkline({ values, isWide = false }: { values: number[]; isWide?: boolean }) {
  if (values.length < 2) return null
  const low = Math.min(...values)
  const span = Math.max(...values) - low || 1
  const points = values.map((value, index) => {
    const x = (index / (values.length - 1)) * (width - 4) + 2
    const y = height - 3 - ((value - low) / span) * (height - 6)
    return `${x.toFixed(1)},${y.toFixed(1)}`
  })
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${width} ${height}`}
      width={isWide ? '100%' : width}
      height={height}
      {...(isWide && { preserveAspectRatio: 'none' })}
      aria-hidden="true"
    >
      <polyline points={points.join(' ')} {...(isWide && { vectorEffect: 'non-scaling-stroke' })} />
    </svg>
  )
}
