/** Preferences of the caller: colours, time zone, language of dates. */
import { usePreferences } from '../../api/preferences.ts'
import { Card, Loading } from '../../parts/card.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { chooseTheme, type Theme, useTheme } from '../../parts/theme.ts'
import { nowMs, Time, timeZones } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

const themes: Theme[] = ['system', 'light', 'dark']
/** Key of the option that stands for “no preference”. The list component accepts no empty key. */
const byDefault = 'default'

export function Preferences() {
  const preferences = usePreferences()
  const chosen = useTheme()
  const toast = useToast()
  const { zone = byDefault, language = byDefault } = preferences.data ?? {}
  async function save(changed: Parameters<typeof preferences.save>[0]) {
    if (await preferences.save(changed)) toast(texts.saved)
  }
  if (preferences.isLoading) return <Loading label={texts.preferences} />
  return (
    <Card title={texts.preferences}>
      <div className="form">
        <SelectField
          label={texts.theme}
          name="theme"
          value={chosen ?? preferences.data?.theme ?? 'system'}
          onChange={(theme) => {
            chooseTheme(theme as Theme)
            void save({ theme: theme as Theme })
          }}
          options={themes.map((value) => ({ value, label: texts.themes[value] }))}
          isRequired
        />
        <SelectField
          label={texts.zone}
          name="zone"
          value={zone}
          onChange={(chosen) => void save({ zone: chosen === byDefault ? undefined : chosen })}
          options={[
            { value: byDefault, label: texts.zoneOfDevice },
            ...timeZones().map((value) => ({ value, label: value.replaceAll('_', ' ') })),
          ]}
          description={
            <>
              {texts.nowIs} <Time value={nowMs()} style="full" />
            </>
          }
          isRequired
        />
        <SelectField
          label={texts.language}
          name="language"
          value={language}
          onChange={(chosen) => void save({ language: chosen === byDefault ? undefined : chosen })}
          options={Object.entries(texts.languages).map(([value, label]) => ({ value: value || byDefault, label }))}
          description={texts.languageNote}
          isRequired
        />
        {preferences.problem && <ErrorNote problem={preferences.problem} onRetry={() => void preferences.reload()} />}
        {preferences.saveProblem && <ErrorNote problem={preferences.saveProblem} />}
        <p className="field-description">{texts.preferencesNote}</p>
      </div>
    </Card>
  )
}
