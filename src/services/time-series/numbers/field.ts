/** A field is the name of a series and of one of its values, joined: no name of either holds a line break. */
const separator = '\n'

export const fieldOf = (series: string, value: string) => series + separator + value

export const namesOf = (field: string): [series: string, value: string] => {
  const at = field.indexOf(separator)
  return [field.slice(0, at), field.slice(at + 1)]
}
