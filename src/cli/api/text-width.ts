/** Measures and cuts text by the columns that it takes on a terminal. */

const narrow = /^[\u0020-\u007e\u00a0-\u02ff]*$/
/** Chinese, Japanese, Korean and emoji take two columns. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
/** Combining accents, joiners and variation selectors take no column. */
const none = /[\p{Mn}\p{Me}\u200b-\u200d]/u

const widthOf = (character: string) => (none.test(character) ? 0 : wide.test(character) ? 2 : 1)

/** Returns the number of columns of a text without control characters. */
export function textWidth(text: string): number {
  if (narrow.test(text)) return text.length
  let width = 0
  for (const character of text) width += widthOf(character)
  return width
}

export const padText = (text: string, width: number) => text + ' '.repeat(Math.max(0, width - textWidth(text)))

/** Cuts a text that is too long to this many columns. The last column is then an ellipsis. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  let [kept, left] = ['', width - 1]
  for (const character of text) {
    left -= widthOf(character)
    if (left < 0) break
    kept += character
  }
  return `${kept}…`
}
