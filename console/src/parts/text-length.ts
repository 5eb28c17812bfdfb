/**
 * Returns the length of a text in Unicode characters, as the API counts it. `length` of JavaScript counts some characters, such as emoji,
 * as two.
 */
export const lengthOf = (text: string) => [...text].length

export const isTooLong = (text: string | undefined, max: number) =>
  text !== undefined && text.length > max && lengthOf(text) > max
