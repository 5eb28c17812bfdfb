import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Difference } from './difference.tsx'
import { type ComparedField, isSameJson } from './merge.ts'
import { Text } from './text.tsx'
import { texts } from './texts.ts'

export interface ConflictDialogProps {
  isOpen: boolean
  fields: ComparedField[]
  onKeepYours(): void
  onTakeTheirs(): void
  onClose(): void
}

const textOf = (value: unknown) => (value === undefined || value === null ? '' : String(value))
/** Returns whether a value is a text of several lines, which is compared line by line. */
const isLong = (value: unknown) => typeof value === 'string' && value.includes('\n')
/** Shows a list of names without quotes and brackets. */
const shownOf = (value: unknown) =>
  Array.isArray(value) && value.every((item) => typeof item === 'string') ? value.join(', ') : value

/** Shows both versions after another caller changed the object (status 412). No input is lost. */
export function ConflictDialog({ isOpen, fields, onKeepYours, onTakeTheirs, onClose }: ConflictDialogProps) {
  return (
    <Dialog
      title={texts.conflictTitle}
      isOpen={isOpen}
      onClose={onClose}
      size="wide"
      isAlert
      actions={
        <>
          <Button onPress={onClose}>{texts.cancel}</Button>
          <Button onPress={onTakeTheirs}>{texts.conflictTakeTheirs}</Button>
          <Button look="primary" onPress={onKeepYours}>
            {texts.conflictKeepYours}
          </Button>
        </>
      }
    >
      <p>{texts.conflictText}</p>
      <div className="scroll-x">
        <table className="plain-table conflict-table">
          <thead>
            <tr>
              <th scope="col">{texts.conflictField}</th>
              <th scope="col">{texts.conflictTheirs}</th>
              <th scope="col">{texts.conflictYours}</th>
            </tr>
          </thead>
          <tbody>
            {fields.map((field) => (
              <tr key={field.name} className={isSameJson(field.theirs, field.yours) ? undefined : 'differs'}>
                <th scope="row">
                  <code>{field.name}</code>
                </th>
                <Values {...field} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Dialog>
  )
}

/** The cells with both values of a field. */
function Values({ name, theirs, yours, before, isYours = true }: ComparedField) {
  const notYours = !isYours && <span className="quiet">{texts.conflictNotYours}</span>
  if (isLong(theirs) || isLong(yours))
    return (
      <td colSpan={2}>
        <Difference label={name} before={textOf(isYours ? theirs : before)} after={textOf(isYours ? yours : theirs)} />
        {notYours}
      </td>
    )
  return (
    <>
      <td>
        <Text value={shownOf(theirs)} />
      </td>
      <td>{notYours || <Text value={shownOf(yours)} />}</td>
    </>
  )
}
