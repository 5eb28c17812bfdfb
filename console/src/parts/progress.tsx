import { Label, ProgressBar } from 'react-aria-components'

/** A bar for work with a known end. */
export function Progress({ label, value, max }: { label: string; value: number; max: number }) {
  return (
    <ProgressBar className="progress" value={value} maxValue={Math.max(1, max)}>
      {({ percentage = 0, valueText }) => (
        <>
          <Label className="progress-label">
            {label}
            <span>{valueText}</span>
          </Label>
          <div className="progress-track">
            <div className="progress-fill" style={{ width: `${percentage}%` }} />
          </div>
        </>
      )}
    </ProgressBar>
  )
}
