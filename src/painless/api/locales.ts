import { defineClass } from '../define.ts'
import { textOf } from '../text.ts'
import type { JavaObject } from '../values.ts'

interface Locale extends JavaObject {
  language: string
  country: string
  text: () => string
  equals: (other: unknown) => boolean
  key: () => string
}

/** Returns a locale. Locales of other languages have only a name: texts and numbers are always written as in English. */
function localeOf(language: string, country = ''): Locale {
  const [languageCode, countryCode] = [language.toLowerCase(), country.toUpperCase()]
  const text = () => (countryCode === '' ? languageCode : `${languageCode}_${countryCode}`)
  return {
    javaClass: 'java.util.Locale',
    language: languageCode,
    country: countryCode,
    text,
    equals: (other) => (other as Locale).text() === text(),
    key: text,
  }
}

const constants: Record<string, [language: string, country?: string]> = {
  ROOT: [''],
  CANADA: ['en', 'CA'],
  CANADA_FRENCH: ['fr', 'CA'],
  CHINA: ['zh', 'CN'],
  CHINESE: ['zh'],
  ENGLISH: ['en'],
  FRANCE: ['fr', 'FR'],
  FRENCH: ['fr'],
  GERMAN: ['de'],
  GERMANY: ['de', 'DE'],
  ITALIAN: ['it'],
  ITALY: ['it', 'IT'],
  JAPAN: ['ja', 'JP'],
  JAPANESE: ['ja'],
  KOREA: ['ko', 'KR'],
  KOREAN: ['ko'],
  UK: ['en', 'GB'],
  US: ['en', 'US'],
}
const tagOf = ({ language, country }: Locale): string =>
  language === '' ? 'und' : country === '' ? language : `${language}-${country}`

defineClass('java.util.Locale', {
  constants: Object.fromEntries(Object.entries(constants).map(([name, tags]) => [name, ['Locale', localeOf(...tags)]])),
  constructors: { '(String)': (language: string) => localeOf(language), '(String,String)': localeOf },
  methods: {
    'String getCountry()': ({ country }: Locale) => country,
    'String getLanguage()': ({ language }: Locale) => language,
    'String toLanguageTag()': tagOf,
    'static Locale forLanguageTag(String)': (tag: string) => {
      const [language = '', country = ''] = textOf(tag).split(/[-_]/)
      return localeOf(language === 'und' ? '' : language, country.length === 2 ? country : '')
    },
    'static Locale getDefault()': () => localeOf('en', 'US'),
  },
})
