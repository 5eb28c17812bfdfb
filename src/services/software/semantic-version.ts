/** Semantic versions (SemVer 2.0.0). */
import semver from 'semver'

/** Returns whether the text is a semantic version. The library also accepts a leading `v` and spaces, which the standard does not. */
export const isSemanticVersion = (text: string) => {
  const parsed = semver.parse(text)
  if (!parsed) return false
  return text === (parsed.build.length > 0 ? `${parsed.version}+${parsed.build.join('.')}` : parsed.version)
}

/** Compares by precedence; build metadata does not count. */
export const comparePrecedence = (one: string, other: string) => semver.compare(one, other)
