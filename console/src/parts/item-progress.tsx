import { count, texts } from './texts.ts'

/** Shows the progress of work over many items: a bar with the shares of done, failed and pending items, and a text with the numbers. */
export function ItemProgress({
  label,
  succeeded,
  failed,
  total,
}: {
  label: string
  succeeded: number
  failed: number
  /** Number of all items; undefined if the number is not known yet. */
  total: number | undefined
}) {
  const whole = Math.max(1, total ?? succeeded + failed)
  const done = succeeded + failed
  return (
    <div
      className="item-progress"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={total ?? whole}
      aria-valuenow={total === undefined ? undefined : done}
      aria-valuetext={total === undefined ? texts.progressUnknown(done) : texts.progress(done, total, failed)}
    >
      <svg className="item-progress-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect className="item-progress-track" width="100" height="6" />
        <rect className="item-progress-good" width={(succeeded / whole) * 100} height="6" />
        <rect className="item-progress-bad" x={(succeeded / whole) * 100} width={(failed / whole) * 100} height="6" />
      </svg>
      <span className="item-progress-text">
        {total === undefined ? texts.progressUnknown(done) : `${count(done)} / ${count(total)}`}
      </span>
    </div>
  )
}
