/** Splits the text of a JSON array into the texts of its items, so that integers keep all their digits. */
export function itemTexts(text: string): string[] {
  const items: string[] = []
  let [depth, start, inText] = [0, 0, false]
  for (let place = 0; place < text.length; place++) {
    const letter = text[place]!
    if (inText) {
      if (letter === '\\') place++
      else if (letter === '"') inText = false
    } else if (letter === '"') inText = true
    else if (letter === '[' || letter === '{') {
      if (depth++ === 0) start = place + 1
    } else if (letter === ']' || letter === '}') {
      if (--depth === 0 && text.slice(start, place).trim() !== '') items.push(text.slice(start, place).trim())
    } else if (letter === ',' && depth === 1) {
      items.push(text.slice(start, place).trim())
      start = place + 1
    }
  }
  return items
}
