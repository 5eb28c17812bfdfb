import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Difference } from './difference.tsx'
import { Text } from './text.tsx'
import { texts } from './texts.ts'

/** A field with both values: the stored value, and the value that the user wants to save. */
export interface ComparedField {
  name: string
  theirs: unknown
  yours: unknown
}

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
const isSame = (theirs: unknown, yours: unknown) => theirs === yours || JSON.stringify(theirs) === JSON.stringify(yours)
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
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">{texts.conflictField}</th>
              <th scope="col">{texts.conflictTheirs}</th>
              <th scope="col">{texts.conflictYours}</th>
            </tr>
          </thead>
          <tbody>
            {fields.map(({ name, theirs, yours }) => (
              <tr key={name} className={isSame(theirs, yours) ? undefined : 'differs'}>
                <th scope="row">
                  <code>{name}</code>
                </th>
                {isLong(theirs) || isLong(yours) ? (
                  <td colSpan={2}>
                    <Difference label={name} before={textOf(theirs)} after={textOf(yours)} />
                  </td>
                ) : (
                  <>
                    <td>
                      <Text value={shownOf(theirs)} />
                    </td>
                    <td>
                      <Text value={shownOf(yours)} />
                    </td>
                  </>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Dialog>
  )
}
