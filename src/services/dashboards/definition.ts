/** Checks definitions for errors that a schema cannot express. All functions are pure. */
import { invalidField } from '../../kernel/errors.ts'
import { columnsMax, type Definition, type Widget } from './definition-schemas.ts'

/** Checks a definition. Throws a 400 that names the wrong widget or variable. */
export function checkDefinition({ variables = [], widgets }: Definition) {
  const names = variables.map(({ name }) => name)
  const repeatedName = firstRepeated(names)
  if (repeatedName !== undefined)
    throw invalidField('definition.variables', `two variables have the name ${repeatedName}`)
  const repeatedId = firstRepeated(widgets.map(({ id }) => id))
  if (repeatedId !== undefined) throw invalidField('definition.widgets', `two widgets have the id ${repeatedId}`)
  for (const [index, widget] of widgets.entries()) {
    const field = `definition.widgets.${index}`
    if (widget.x + widget.width > columnsMax)
      throw invalidField(`${field}.width`, `expected x and width to be at most ${columnsMax} together`)
    const unknown = referencesOf(widget).find((name) => !names.includes(name))
    if (unknown !== undefined) throw invalidField(field, `there is no variable ${unknown}`)
  }
}

const firstRepeated = (texts: string[]) => texts.find((one, index) => texts.indexOf(one) !== index)

/** Returns the names of the variables that a widget uses. */
function referencesOf(widget: Widget): string[] {
  const { application, endpoint, filter, time, series } = widget as unknown as Record<string, unknown>
  const ofSeries = [series ?? []].flat() as { application?: string; endpoint?: string }[]
  return [application, endpoint, filter, time, ...ofSeries.flatMap((one) => [one.application, one.endpoint])].flatMap(
    (value) => (typeof value === 'string' && value.startsWith('$') ? [value.slice(1)] : []),
  )
}
