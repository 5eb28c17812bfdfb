/** Whether a filter is one: wildcards only as whole levels, `#` only as the last, and the two parts of a shared one. */
export function isFilter(filter: string): boolean {
  const plain = plainFilter(filter)
  if (plain === undefined || plain === '') return false
  for (let index = 0; index < plain.length; index++) {
    const sign = plain[index]
    if (sign !== '+' && sign !== '#') continue
    const alone = (index === 0 || plain[index - 1] === '/') && (index + 1 === plain.length || plain[index + 1] === '/')
    if (!alone || (sign === '#' && index + 1 < plain.length)) return false
  }
  return true
}

/** How many levels a filter or topic has. */
export function levelsOf(filter: string): number {
  let levels = 1
  for (let index = filter.indexOf('/'); index >= 0; index = filter.indexOf('/', index + 1)) levels++
  return levels
}

export const isShared = (filter: string) => filter.startsWith('$share/')

/** A shared subscription's filter without `$share/<name>/`; undefined when the name is missing or wrong. */
export function plainFilter(filter: string): string | undefined {
  if (!isShared(filter)) return filter
  const nameEnd = filter.indexOf('/', 7)
  if (nameEnd <= 7 || /[+#]/.test(filter.slice(7, nameEnd))) return undefined
  return filter.slice(nameEnd + 1)
}

export function matches(filter: string, topic: string): boolean {
  const plain = plainFilter(filter) ?? filter
  if (plain === topic) return true
  // MQTT-4.7.2-1: a wildcard in the first level does not match topics of the server's own.
  if (topic.startsWith('$') && (plain.startsWith('+') || plain.startsWith('#'))) return false
  const wanted = plain.split('/')
  const levels = topic.split('/')
  for (let index = 0; index < wanted.length; index++) {
    if (wanted[index] === '#') return true
    if (index >= levels.length || (wanted[index] !== '+' && wanted[index] !== levels[index])) return false
  }
  return wanted.length === levels.length
}
