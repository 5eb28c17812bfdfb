/** Notes on a page: an error, an empty list, a missing permission, a state that needs attention. */
import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icons.tsx'
import type { Problem } from './problem.ts'
import { Text } from './text.tsx'
import { texts } from './texts.ts'

/** Shows an error: message, code and correlation id. */
export function ErrorNote({ problem, onRetry }: { problem: Problem; onRetry?: (() => void) | undefined }) {
  const { message, code, correlationId, retryAfterSeconds, field } = problem
  const { isOfChange, missingScope } = problem
  // A change can be refused for another reason than a missing permission, such as a wrong password. The message then says which.
  if (problem.status === 403 && isOfChange && missingScope) return <RefusedChange scope={missingScope} />
  if (problem.status === 403 && !isOfChange) return <PermissionNote scope={missingScope} />
  return (
    <div className="note note-bad" role="alert">
      <Icon name="alert" />
      <div className="note-body">
        <p>
          <Text value={message} max={600} />
          {retryAfterSeconds !== undefined && ` ${texts.waitSeconds(retryAfterSeconds)}`}
        </p>
        <dl className="note-facts">
          {field && (
            <div>
              <dt>{texts.problemField}</dt>
              <dd>
                <Text value={field} mono />
              </dd>
            </div>
          )}
          <div>
            <dt>{texts.problemCode}</dt>
            <dd>
              <Text value={code} mono />
            </dd>
          </div>
          {correlationId && (
            <div>
              <dt>{texts.problemId}</dt>
              <dd>
                <Text value={correlationId} mono />
              </dd>
            </div>
          )}
        </dl>
      </div>
      {onRetry && (
        <Button icon="refresh" onPress={onRetry}>
          {texts.tryAgain}
        </Button>
      )}
    </div>
  )
}

const permissionText = (scope: string | undefined) =>
  scope ? texts.noPermissionText(scope) : texts.noPermissionUnknown

/** Shows that the caller lacks a permission, and names the missing scope. */
export const PermissionNote = ({ scope }: { scope?: string | undefined }) => (
  <EmptyState icon="lock" title={texts.noPermission}>
    {permissionText(scope)}
  </EmptyState>
)

/** Shows that a change was rejected. The form stays open. */
const RefusedChange = ({ scope }: { scope: string }) => (
  <div className="note note-bad" role="alert">
    <Icon name="lock" />
    <p className="note-body">
      {texts.changeRefused} {texts.noPermissionText(scope)}
    </p>
  </div>
)

/** Explains what to do where nothing exists yet. */
export function EmptyState({
  icon,
  title,
  children,
  actions,
}: {
  icon: IconName
  title: string
  children?: ReactNode
  actions?: ReactNode
}) {
  return (
    <div className="empty">
      <span className="empty-icon">
        <Icon name={icon} size={24} />
      </span>
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {actions && <div className="empty-actions">{actions}</div>}
    </div>
  )
}

/** A note that does not report an error. */
export function Note({
  tone = 'info',
  children,
  action,
}: {
  tone?: 'info' | 'good' | 'warn'
  children: ReactNode
  action?: ReactNode
}) {
  const icon = { info: 'info', good: 'check', warn: 'alert' } as const
  return (
    <div className={`note note-${tone}`} role="status">
      <Icon name={icon[tone]} />
      <div className="note-body">{children}</div>
      {action}
    </div>
  )
}
