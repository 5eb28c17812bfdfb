/** Lengths of typed texts. They count as the API does: a character outside the basic plane is one. */
export const lengthOf = (text: string) => [...text].length

export const isTooLong = (text: string | undefined, max: number) =>
  text !== undefined && text.length > max && lengthOf(text) > max
