/** Short notes inside of widgets. */
import type { ReactNode } from 'react'
import { Icon, type IconName } from '../../parts/icons.tsx'
import { cut, withoutInvisible } from '../../parts/text.tsx'
import { useDashboard } from './context.tsx'
import type { Located } from './use-points.ts'
import { widgetTexts as texts } from './widget-texts.ts'

export const WidgetNote = ({
  icon = 'info',
  tone = 'quiet',
  children,
}: {
  icon?: IconName
  tone?: 'quiet' | 'warn'
  children: ReactNode
}) => (
  <p className={`widget-note widget-note-${tone}`}>
    <Icon name={icon} size={16} />
    <span>{children}</span>
  </p>
)

const idsShown = 3
const short = (id: string) => withoutInvisible(cut(id, 60).shown)

/** Says why series cannot be shown: their endpoint is not chosen, does not exist, or may not be read by the caller. */
export function LocatedNotes({ located: { missing, unchosen } }: { located: Located }) {
  const { hasVariable } = useDashboard()
  return (
    <>
      {unchosen > 0 && <WidgetNote>{hasVariable('endpoint') ? texts.chooseEndpoint : texts.noEndpoint}</WidgetNote>}
      {missing.length > 0 && (
        <WidgetNote icon="alert" tone="warn">
          {texts.missing(missing.slice(0, idsShown).map(short))}
        </WidgetNote>
      )}
    </>
  )
}
