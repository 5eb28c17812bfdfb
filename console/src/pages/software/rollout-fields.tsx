/**
 * The fields of a rollout: the endpoints to which a version is offered, the versions from which endpoints can upgrade to it, and when the
 * rollout halts.
 */
import { useList } from '../../api/query.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { CheckList } from '../../parts/check-list.tsx'
import { SelectField, SwitchField, TextField } from '../../parts/fields.tsx'
import type { FieldState, Form } from '../../parts/form.ts'
import { Link } from '../../parts/link.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { NumberField } from '../../parts/number-field.tsx'
import { cut } from '../../parts/text.tsx'
import { formatTime } from '../../parts/time.tsx'
import { formTexts } from './form-texts.ts'
import { texts } from './texts.ts'
import type { RolloutFilter, RolloutValues, Strategy } from './values.ts'

export const strategies = Object.keys(texts.strategies) as Strategy[]

interface Props {
  appName: string
  form: Form<RolloutValues>
  /** Other versions of the application, the newest first. */
  others: string[]
}

export function RolloutFields({ appName, form, others }: Props) {
  const { failureThreshold, rolloutStrategy } = form.values
  const strategy = form.field('rolloutStrategy')
  return (
    <>
      {others.length > 0 ? (
        <CheckList
          label={texts.facts.from}
          {...form.field('upgradableFrom')}
          options={others.map((value) => ({ value, label: value }))}
          description={formTexts.fromNote}
        />
      ) : (
        <Note>{formTexts.firstVersion}</Note>
      )}
      <SelectField
        label={texts.facts.strategy}
        {...strategy}
        onChange={(value) => strategy.onChange(strategies.find((known) => known === value) ?? 'suspended')}
        options={strategies.map((value) => ({
          value,
          label: texts.strategies[value],
          description: formTexts.strategyNotes[value],
        }))}
        isRequired
      />
      {rolloutStrategy === 'targeted' && <FilterRows appName={appName} field={form.field('filters')} />}
      <SwitchField
        label={formTexts.skip}
        {...form.field('skipDispatchingToEndpoint')}
        description={formTexts.skipNote}
      />
      <SwitchField
        label={formTexts.threshold}
        {...form.field('failureThreshold')}
        description={formTexts.thresholdNote}
      />
      {failureThreshold && (
        <div className="software-pair">
          <NumberField label={formTexts.percent} {...form.field('percent')} min={1} max={100} isRequired />
          <NumberField label={formTexts.attempts} {...form.field('minimumAttempts')} min={1} isRequired />
        </div>
      )}
    </>
  )
}

const inputOf = (rolloutDate: string | undefined) => rolloutDate?.replace(/Z$/, '') ?? ''
/** Returns the date for the API. The date field of the browser leaves out seconds that are zero. */
const dateOf = (input: string) => `${input.length === 16 ? `${input}:00` : input.slice(0, 19)}Z`

export function FilterRows({ appName, field }: { appName: string; field: FieldState<RolloutFilter[]> }) {
  const list = useList('endpointFilters.list', { applicationName: appName })
  const { value: rows, onChange } = field
  const known = list.items.map(({ id, name }) => ({ value: id, label: cut(name, 80).shown }))
  const missing = rows.filter(({ filterId }) => filterId !== '' && !known.some(({ value }) => value === filterId))
  const options = [...known, ...missing.map(({ filterId }) => ({ value: filterId, label: filterId }))]
  const set = (index: number, row: RolloutFilter) => onChange(rows.map((one, at) => (at === index ? row : one)))
  if (list.problem) return <ErrorNote problem={list.problem} onRetry={list.reload} />
  return (
    <fieldset className="software-filters">
      <legend className="field-label">
        {texts.facts.filters} <code className="field-name">{field.name}</code>
      </legend>
      {!list.isLoading && options.length === 0 && (
        <Note action={<Link to={`/filters/${encodeURIComponent(appName)}/new`}>{formTexts.newFilter}</Link>}>
          {formTexts.noFilters}
        </Note>
      )}
      {rows.map(({ filterId, rolloutDate }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a filter may be named several times, with different dates
        <div key={index} className="software-filter">
          <SelectField
            label={formTexts.filter}
            name="filterId"
            value={filterId}
            onChange={(value) => set(index, { ...(rolloutDate !== undefined && { rolloutDate }), filterId: value })}
            options={options}
            isRequired
          />
          <TextField
            label={formTexts.date}
            name="rolloutDate"
            type="datetime-local"
            value={inputOf(rolloutDate)}
            onChange={(input) => set(index, { filterId, ...(input !== '' && { rolloutDate: dateOf(input) }) })}
            description={rolloutDate === undefined ? formTexts.atOnce : formTexts.yourTime(formatTime(rolloutDate))}
          />
          <IconButton
            icon="trash"
            label={formTexts.removeFilter(index + 1)}
            onPress={() => onChange(rows.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      <div>
        <Button
          icon="plus"
          isDisabled={options.length === 0}
          onPress={() => onChange([...rows, { filterId: options[0]?.value ?? '' }])}
        >
          {formTexts.addFilter}
        </Button>
      </div>
      {field.problem && (
        <p className="field-error" role="alert">
          {field.problem}
        </p>
      )}
    </fieldset>
  )
}
