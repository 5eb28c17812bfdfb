/** Splits the text of a JSON array into the texts of its items. JSON.parse would round integers beyond 2^53. */
export function itemTexts(text: string): string[] {
  const items: string[] = []
  let [depth, start, inText] = [0, 0, false]
  for (let index = 0; index < text.length; index++) {
    const char = text[index]!
    if (inText) {
      if (char === '\\') index++
      else if (char === '"') inText = false
    } else if (char === '"') inText = true
    else if (char === '[' || char === '{') {
      if (depth++ === 0) start = index + 1
    } else if (char === ']' || char === '}') {
      if (--depth === 0 && text.slice(start, index).trim() !== '') items.push(text.slice(start, index).trim())
    } else if (char === ',' && depth === 1) {
      items.push(text.slice(start, index).trim())
      start = index + 1
    }
  }
  return items
}
