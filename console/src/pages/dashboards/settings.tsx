/** The settings of the dashboard itself: name, description and variables. */
import { useState } from 'react'
import { Button, IconButton } from '../../parts/button.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { Text } from '../../parts/text.tsx'
import { type Contents, lengths, type Variable } from './definition.ts'
import { editTexts as texts } from './edit-texts.ts'
import { ApplicationReference, EndpointReference } from './reference-fields.tsx'
import { withRenamedVariable } from './references.ts'
import { withField } from './series-fields.tsx'
import { texts as pageTexts } from './texts.ts'

export interface SettingsProps {
  contents: Contents
  onChange(next: (now: Contents) => Contents, name?: string): void
  nameProblem: string | undefined
}

const variablesMax = 20
const namePattern = /^[a-zA-Z][a-zA-Z0-9]*$/
const kinds = Object.entries(texts.variableKinds).map(([value, label]) => ({ value, label }))

/** Returns an unused name: device, device2, … */
function freeName(variables: readonly Variable[], base: string): string {
  const taken = new Set(variables.map(({ name }) => name))
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}${number}`
    if (!taken.has(name)) return name
  }
}

export function Settings({ contents, onChange, nameProblem }: SettingsProps) {
  const { name, description, definition } = contents
  const { variables = [] } = definition
  const setVariables = (next: Variable[], fieldName?: string) =>
    onChange((now) => ({ ...now, definition: { ...now.definition, variables: next } }), fieldName)
  const replace = (at: number, one: Variable, field: string) =>
    setVariables(
      variables.map((old, index) => (index === at ? one : old)),
      `variable ${at} ${field}`,
    )
  /** Renames a variable. Widgets that refer to the variable get the new name too. */
  const rename = (at: number, to: string) =>
    onChange(({ definition, ...rest }) => {
      const from = definition.variables?.[at]?.name ?? ''
      return {
        ...rest,
        definition: {
          ...definition,
          variables: (definition.variables ?? []).map((one, index) => (index === at ? { ...one, name: to } : one)),
          widgets: definition.widgets.map((widget) => withRenamedVariable(widget, from, to)),
        },
      }
    }, `variable ${at} name`)
  const remove = (at: number) =>
    onChange(({ definition, ...rest }) => ({
      ...rest,
      definition: {
        ...definition,
        variables: (definition.variables ?? []).filter((_, index) => index !== at),
        widgets: definition.widgets.map((widget) => withRenamedVariable(widget, variables[at]!.name, '')),
      },
    }))
  return (
    <div className="inspector-fields">
      <TextField
        label={texts.name}
        name="name"
        value={name}
        onChange={(name) => onChange((now) => ({ ...now, name }), 'name')}
        lengthMax={lengths.name}
        problem={nameProblem}
        isRequired
      />
      <TextField
        label={texts.description}
        name="description"
        value={description}
        onChange={(text) => onChange((now) => ({ ...now, description: text }), 'description')}
        lengthMax={lengths.description}
        lines={2}
      />
      <fieldset className="inspector-group">
        <legend>{texts.variables}</legend>
        <p className="field-description">{texts.variablesNote}</p>
        {variables.map((variable, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the name of a variable changes while it is typed
          <div key={at} className="inspector-item">
            <VariableFields
              variable={variable}
              variables={variables}
              onRename={(to) => rename(at, to)}
              onChange={(one, field) => replace(at, one, field)}
            />
            <IconButton icon="trash" label={texts.removeVariable(variable.name)} onPress={() => remove(at)} />
          </div>
        ))}
        {variables.length < variablesMax && (
          <Button
            size="small"
            icon="plus"
            onPress={() => setVariables([...variables, { name: freeName(variables, 'device'), kind: 'endpoint' }])}
          >
            {texts.addVariable}
          </Button>
        )}
      </fieldset>
    </div>
  )
}

interface VariableFieldsProps {
  variable: Variable
  variables: readonly Variable[]
  onRename(name: string): void
  onChange(variable: Variable, field: string): void
}

/**
 * Field for the name of a variable. If the name is invalid, the field keeps it and shows the reason, and the variable keeps its last valid
 * name.
 */
function VariableName({ name, isTaken, onRename }: { name: string; isTaken: boolean; onRename(name: string): void }) {
  const [wrong, setWrong] = useState<string>()
  const change = (to: string) => {
    const isValid = namePattern.test(to) && to.length <= lengths.variable
    setWrong(isValid ? undefined : to)
    if (isValid) onRename(to)
  }
  const problem =
    wrong === undefined
      ? isTaken
        ? texts.variableNameNote
        : undefined
      : texts.variableNameWrong(lengths.variable, name)
  return (
    <TextField
      label={texts.variableName}
      name="name"
      value={wrong ?? name}
      onChange={change}
      description={texts.variableNameNote}
      problem={problem}
      isRequired
      mono
    />
  )
}

function VariableFields({ variable, variables, onRename, onChange }: VariableFieldsProps) {
  const { name, kind, label, value } = variable
  const isTaken = variables.filter((one) => one.name === name).length > 1
  const setValue = (value: string | undefined) => onChange(withField(variable, 'value', value), 'value')
  return (
    <details>
      <summary>
        <Text value={label || name} max={60} />
        <small>{texts.variableKinds[kind]}</small>
      </summary>
      <div className="inspector-fields">
        <VariableName name={name} isTaken={isTaken} onRename={onRename} />
        <SelectField
          label={texts.variableKind}
          name="kind"
          value={kind}
          onChange={(kind) => onChange({ name, kind: kind as Variable['kind'], ...(label && { label }) }, 'kind')}
          options={kinds}
          isRequired
        />
        <TextField
          label={texts.variableLabel}
          name="label"
          value={label ?? ''}
          onChange={(label) => onChange(withField(variable, 'label', label), 'label')}
          lengthMax={lengths.label}
        />
        {kind === 'endpoint' ? (
          <EndpointReference label={texts.variableValue} variables={[]} value={value} onChange={setValue} isPlain />
        ) : kind === 'application' ? (
          <ApplicationReference label={texts.variableValue} variables={[]} value={value} onChange={setValue} isPlain />
        ) : kind === 'time' ? (
          <SelectField
            label={texts.variableValue}
            name="value"
            value={value ?? 'PT6H'}
            onChange={setValue}
            options={Object.entries(pageTexts.durations).map(([value, label]) => ({ value, label }))}
          />
        ) : (
          <TextField label={texts.variableValue} name="value" value={value ?? ''} onChange={setValue} mono />
        )}
      </div>
    </details>
  )
}
