import { JavaThrow } from '../errors.ts'

/* Converts between days since 1970-01-01 and year, month and day. */

export interface Civil {
  year: number
  month: number
  day: number
}

export const dateTimeError = (message: string): JavaThrow => new JavaThrow('java.time.DateTimeException', message)

const floorDiv = (left: number, right: number): number => Math.floor(left / right)
export const floorMod = (left: number, right: number): number => left - floorDiv(left, right) * right

/** Maximum year of a date; the minimum is its negative. */
const yearMax = 999_999_999

export const isLeapYear = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0

export const monthLength = (year: number, month: number): number =>
  month === 2 ? (isLeapYear(year) ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31

/** Returns the days since 1970. Internally, years start in March, so that the leap day is the last day of its year. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year
  const era = floorDiv(shifted, 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146097 + dayOfEra - 719468
}

export function civilFromDays(days: number): Civil {
  const shifted = days + 719468
  const era = floorDiv(shifted, 146097)
  const dayOfEra = shifted - era * 146097
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36524) - Math.floor(dayOfEra / 146096)) / 365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const monthIndex = Math.floor((5 * dayOfYear + 2) / 153)
  const month = monthIndex + (monthIndex < 10 ? 3 : -9)
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * monthIndex + 2) / 5) + 1,
  }
}

function inRange(name: string, value: number, min: number, max: number): void {
  if (value < min || value > max || !Number.isInteger(value))
    throw dateTimeError(`Invalid value for ${name} (valid values ${min} - ${max}): ${value}`)
}

/** Returns the days since 1970 of a date. Throws if the date does not exist. */
export function checkedDays(year: number, month: number, day: number): number {
  inRange('Year', year, -yearMax, yearMax)
  inRange('MonthOfYear', month, 1, 12)
  inRange('DayOfMonth', day, 1, 31)
  if (day > monthLength(year, month))
    throw dateTimeError(
      day === 29 ? `Invalid date 'February 29' as '${year}' is not a leap year` : `Invalid date '${month}-${day}'`,
    )
  return daysFromCivil(year, month, day)
}

export const nanosPerSecond = 1_000_000_000
export const nanosPerDay = 86_400 * nanosPerSecond

export function checkedNanos(hour: number, minute: number, second: number, nano: number): number {
  inRange('HourOfDay', hour, 0, 23)
  inRange('MinuteOfHour', minute, 0, 59)
  inRange('SecondOfMinute', second, 0, 59)
  inRange('NanoOfSecond', nano, 0, nanosPerSecond - 1)
  return ((hour * 60 + minute) * 60 + second) * nanosPerSecond + nano
}

export const dayOfYear = ({ year, month, day }: Civil): number =>
  daysFromCivil(year, month, day) - daysFromCivil(year, 1, 1) + 1

/** Returns the weekday: Monday is 1, Sunday is 7. */
export const dayOfWeek = (days: number): number => floorMod(days + 3, 7) + 1

/** Adds months. If the day does not exist in the new month, the last day of the month is used. */
export function plusMonths(days: number, months: number): number {
  const { year, month, day } = civilFromDays(days)
  const total = year * 12 + month - 1 + months
  const newYear = floorDiv(total, 12)
  inRange('Year', newYear, -yearMax, yearMax)
  const newMonth = floorMod(total, 12) + 1
  return daysFromCivil(newYear, newMonth, Math.min(day, monthLength(newYear, newMonth)))
}

/** Returns week and year of ISO 8601. The first week is the week with the first Thursday. */
export function isoWeek(days: number): { week: number; year: number } {
  const thursday = days - dayOfWeek(days) + 4
  const { year } = civilFromDays(thursday)
  return { year, week: Math.floor((thursday - daysFromCivil(year, 1, 1)) / 7) + 1 }
}
