/**
 * Returns true if a topic filter is valid. Wildcards must be whole levels, `#` must be the last level, and a shared filter must have a
 * name.
 */
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

/** Returns the number of levels of a filter or topic. */
export function levelsOf(filter: string): number {
  let levels = 1
  for (let index = filter.indexOf('/'); index >= 0; index = filter.indexOf('/', index + 1)) levels++
  return levels
}

export const isShared = (filter: string) => filter.startsWith('$share/')

/** Removes `$share/<name>/` from the filter of a shared subscription. Returns undefined if the name is missing or invalid. */
export function plainFilter(filter: string): string | undefined {
  if (!isShared(filter)) return filter
  const nameEnd = filter.indexOf('/', 7)
  if (nameEnd <= 7 || /[+#]/.test(filter.slice(7, nameEnd))) return undefined
  return filter.slice(nameEnd + 1)
}

/** Returns true if the filter of a subscription matches the topic. */
export function matches(filter: string, topic: string): boolean {
  const plain = plainFilter(filter) ?? filter
  if (plain === topic) return true
  // MQTT-4.7.2-1: a wildcard in the first level does not match topics that start with `$`.
  if (topic.startsWith('$') && (plain.startsWith('+') || plain.startsWith('#'))) return false
  const filterLevels = plain.split('/')
  const levels = topic.split('/')
  for (let index = 0; index < filterLevels.length; index++) {
    if (filterLevels[index] === '#') return true
    if (index >= levels.length || (filterLevels[index] !== '+' && filterLevels[index] !== levels[index])) return false
  }
  return filterLevels.length === levels.length
}
