/**
 * The rule for new passwords of users: a minimum length, no common password, no part of the user's own name. Existing passwords are not
 * checked.
 */
import type { IdentitySettings } from './settings.ts'

export interface PasswordRule {
  /** Returns the problem with a new password, as text for the user. Returns undefined if the password may be used. */
  problemOf(
    password: string,
    user: { username: string; email?: string | null | undefined },
  ): Promise<string | undefined>
}

const lengthMax = 256
/** Minimum length of the names that a password must not contain. Shorter names occur in too many passwords. */
const nameLengthMin = 4
/**
 * Matches digits and signs at the end of a password, such as `2024!` in `password2024!`. They are ignored, because they hardly make
 * guessing harder.
 */
const ending = /[\d\W_]{1,4}$/

let commonPasswords: Promise<ReadonlySet<string>> | undefined

/** Loads the list of common passwords at first use, because it takes 50 ms. */
async function loadCommonPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'] as string[])
}

const simplified = (text: string) => text.normalize('NFKC').toLowerCase()

export function createPasswordRule(settings: IdentitySettings): PasswordRule {
  const { passwordLengthMin, refuseCommonPasswords } = settings

  async function isCommon(password: string): Promise<boolean> {
    commonPasswords ??= loadCommonPasswords()
    const common = await commonPasswords
    return common.has(password) || common.has(password.replace(ending, ''))
  }

  return {
    async problemOf(password, { username, email }) {
      const length = [...password].length
      if (length < passwordLengthMin || password.length > lengthMax)
        return `expected ${passwordLengthMin} to ${lengthMax} characters`
      if (password.includes('\0') || !password.isWellFormed()) return 'expected text without NUL'
      const plain = simplified(password)
      if (new Set(plain).size < 4) return 'expected at least four different characters'
      const names = [username, email?.split('@')[0] ?? ''].map(simplified)
      if (names.some((name) => name.length >= nameLengthMin && plain.includes(name)))
        return 'expected a password that does not contain the user name or e-mail address'
      if (refuseCommonPasswords && (await isCommon(plain)))
        return 'expected a password that is not among the most common passwords'
      return undefined
    },
  }
}
