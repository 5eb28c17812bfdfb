/** A field is a series name and a value name, joined by a line break, which neither can contain. */
const separator = '\n'

export const fieldOf = (series: string, value: string) => series + separator + value

export const namesOf = (field: string): [series: string, value: string] => {
  const at = field.indexOf(separator)
  return [field.slice(0, at), field.slice(at + 1)]
}
