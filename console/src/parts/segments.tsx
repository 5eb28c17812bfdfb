import { count } from './texts.ts'

export interface SegmentOption<T extends string> {
  value: T
  label: string
  /** Number beside the label; undefined while it is counted. */
  count?: number | undefined
}

/** A choice between a few options, which can have counts: `<Segments label="Connection" options={…} value={…} onChange={…} />`. */
export function Segments<T extends string>({
  label,
  options,
  value,
  onChange,
}: {
  label: string
  options: SegmentOption<T>[]
  value: T
  onChange(value: T): void
}) {
  return (
    <div className="segments" role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          className="segment"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.label}
          {option.count !== undefined && <span className="segment-count">{count(option.count)}</span>}
        </button>
      ))}
    </div>
  )
}
