/** A field is a series name and a value name, joined by a line break. Neither name can contain a line break. */
const separator = '\n'

export const fieldOf = (series: string, value: string) => series + separator + value

export const namesOf = (field: string): [series: string, value: string] => {
  const separatorIndex = field.indexOf(separator)
  return [field.slice(0, separatorIndex), field.slice(separatorIndex + 1)]
}
