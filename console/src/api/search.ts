/** Turns what a person types into conditions of the API. */

/** Escapes a text for a regular expression (RE2 syntax) that finds it as it is. */
export const escapeExpression = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
