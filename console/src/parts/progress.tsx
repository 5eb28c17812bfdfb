import { Label } from 'react-aria-components/Label'
import { ProgressBar } from 'react-aria-components/ProgressBar'

/** A bar for work with a known end: `<Progress label="Sending" value={3} max={10}>3 of 10 MB</Progress>`. */
export function Progress({
  label,
  value,
  max,
  children,
}: {
  label: string
  value: number
  max: number
  /** Text beside the bar. Default: the share in percent. */
  children?: string
}) {
  return (
    <ProgressBar
      className="progress"
      value={Math.min(value, max)}
      maxValue={Math.max(1, max)}
      {...(children !== undefined && { valueLabel: children })}
    >
      {({ percentage = 0, valueText }) => (
        <>
          <Label className="progress-label">
            {label}
            <span>{valueText}</span>
          </Label>
          <svg className="progress-track" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
            <rect className="progress-fill" width={percentage} height="8" />
          </svg>
        </>
      )}
    </ProgressBar>
  )
}
