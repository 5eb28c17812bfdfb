import { type ReactNode, use } from 'react'
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from 'react-aria-components/Button'
import { Icon, type IconName } from './icons.tsx'
import { texts } from './texts.ts'
import { LeaveContext } from './unsaved.ts'

export interface ButtonProps extends Omit<AriaButtonProps, 'className' | 'children'> {
  /** Appearance of the button; default: `plain`. A page has at most one `primary` button. */
  look?: 'primary' | 'plain' | 'quiet' | 'danger'
  icon?: IconName
  /** Shows that an action is running. The button cannot be pressed meanwhile. */
  isBusy?: boolean
  size?: 'small'
  children?: ReactNode
}

/** A button: `<Button icon="plus" look="primary" onPress={…}>New</Button>`. */
// `isPending` of React Aria is not used, because it announces the button in a live region, even after the dialog of the button was closed.
export function Button({ look = 'plain', icon, isBusy = false, size, children, ...props }: ButtonProps) {
  return (
    <AriaButton
      {...props}
      {...(isBusy && { onPress: () => {}, type: 'button', 'data-pending': true })}
      className={`button button-${look}${size ? ` button-${size}` : ''}`}
    >
      {icon && <Icon name={icon} size={16} />}
      {isBusy ? <span>{texts.working}</span> : children}
    </AriaButton>
  )
}

/** A button with an icon only. Screen readers read its `label`. */
export function IconButton({
  icon,
  label,
  ...props
}: Omit<AriaButtonProps, 'className' | 'children'> & { icon: IconName; label: string }) {
  return (
    <AriaButton {...props} aria-label={label} className="icon-button">
      <Icon name={icon} />
    </AriaButton>
  )
}

/** A button that discards a form or closes a dialog. If there is unsaved input, the button asks the user first. */
export function CancelButton({ onPress }: { onPress(): void }) {
  const leaveHere = use(LeaveContext)
  return <Button onPress={() => leaveHere(onPress)}>{texts.cancel}</Button>
}
