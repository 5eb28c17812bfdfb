import { type ReactNode, use } from 'react'
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from 'react-aria-components/Button'
import { Icon, type IconName } from './icons.tsx'
import { texts } from './texts.ts'
import { LeaveContext } from './unsaved.ts'

export interface ButtonProps extends Omit<AriaButtonProps, 'className' | 'children'> {
  /** Default: `plain`. One `primary` button on a page at most. */
  look?: 'primary' | 'plain' | 'quiet' | 'danger'
  icon?: IconName
  /** Shows a running action and prevents a second one. */
  isBusy?: boolean
  size?: 'small'
  children?: ReactNode
}

/** `<Button icon="plus" look="primary" onPress={…}>New</Button>` */
// Does not use `isPending` of React Aria: it names a button in a live region, also after the dialog of the button is gone.
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

/** A button with an icon only; `label` names it. */
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

/** Discards a form or closes a dialog. It asks before, if something was typed. */
export function CancelButton({ onPress }: { onPress(): void }) {
  const leaveHere = use(LeaveContext)
  return <Button onPress={() => leaveHere(onPress)}>{texts.cancel}</Button>
}
