/**
 * Semantic versions (SemVer 2.0.0). A number in a version can have more digits than a JavaScript number can represent, for example a date
 * with the time. Therefore numbers are compared as strings of digits.
 */

const number = '(?:0|[1-9]\\d*)'
const preRelease = `(?:${number}|\\d*[a-zA-Z-][0-9a-zA-Z-]*)`
const build = '[0-9a-zA-Z-]+'
const list = (item: string) => `${item}(?:\\.${item})*`
const semanticVersion = new RegExp(`^${number}\\.${number}\\.${number}(?:-${list(preRelease)})?(?:\\+${list(build)})?$`)

/** Returns whether the text is a semantic version. */
export const isSemanticVersion = (text: string) => semanticVersion.test(text)

/** Compares two semantic versions by precedence. Build metadata is ignored. */
export function comparePrecedence(one: string, other: string): number {
  const [a, b] = [partsOf(one), partsOf(other)]
  const byNumbers = compareLists(a.numbers, b.numbers)
  if (byNumbers !== 0) return byNumbers
  // A version without a pre-release has a higher precedence than its pre-releases.
  if (a.preRelease.length === 0 || b.preRelease.length === 0) return b.preRelease.length - a.preRelease.length
  return compareLists(a.preRelease, b.preRelease)
}

function partsOf(version: string): { numbers: string[]; preRelease: string[] } {
  const [precedence = ''] = version.split('+', 1)
  const hyphen = precedence.indexOf('-')
  return hyphen === -1
    ? { numbers: precedence.split('.'), preRelease: [] }
    : { numbers: precedence.slice(0, hyphen).split('.'), preRelease: precedence.slice(hyphen + 1).split('.') }
}

/** Compares the first identifiers that differ. If none differ, the longer list has the higher precedence. */
function compareLists(one: string[], other: string[]): number {
  for (let index = 0; index < Math.min(one.length, other.length); index++) {
    const order = compareIdentifiers(one[index]!, other[index]!)
    if (order !== 0) return order
  }
  return one.length - other.length
}

const digits = /^\d+$/

/** Compares two identifiers. Numbers are lower than other identifiers. Numbers have no leading zeros, so a longer number is greater. */
function compareIdentifiers(one: string, other: string): number {
  const [isNumber, isOtherNumber] = [digits.test(one), digits.test(other)]
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  if (isNumber && one.length !== other.length) return one.length - other.length
  if (one === other) return 0
  return one < other ? -1 : 1
}
