/** Makes texts from other sources safe for a terminal. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are replaced
const unsafe = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]/g

/** Writes control characters and marks of writing direction as escapes such as `\u001b`, because a terminal would interpret them. */
export const visible = (text: string) =>
  text.replace(unsafe, (character) => {
    if (character === '\n') return '\\n'
    if (character === '\t') return '\\t'
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })

/**
 * Escapes control characters in lines of output, but keeps the line breaks. If the output goes to a program instead of a terminal, the text
 * stays unchanged.
 */
export const visibleAtTerminal = (text: string) =>
  process.stdout.isTTY ? text.split('\n').map(visible).join('\n') : text
