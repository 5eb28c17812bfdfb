/** A range of times in milliseconds since 1970. `to` is not part of the range. */
export interface DateRange {
  from: number
  to: number
}

export interface Candidate {
  applicationName: string
  /** The dates that the index name selects. If absent, the name selects all dates. */
  dates?: DateRange
}

const statisticsNames = ['platform-system-traffic-statistics', 'kaa-system-traffic-statistics']

const datePattern = /^(?:\*|(\d{4})(?:[.-](\d{2})(?:[.-](\d{2}))?)?(?:[.-]?\*)?)$/

/** Returns the dates that the end of an index name selects: an empty object for `*`, undefined if the text is not a date. */
function datesOf(text: string): { dates?: DateRange } | undefined {
  const match = datePattern.exec(text)
  if (!match) return undefined
  const [, year, month, day] = match
  if (year === undefined) return {}
  const [y, m, d] = [Number(year), month === undefined ? 0 : Number(month) - 1, day === undefined ? 1 : Number(day)]
  const from = Date.UTC(y, m, d)
  const start = new Date(from)
  // 2026.02.31 is not a date.
  if (start.getUTCFullYear() !== y || start.getUTCMonth() !== m || start.getUTCDate() !== d) return undefined
  const to = day !== undefined ? Date.UTC(y, m, d + 1) : month !== undefined ? Date.UTC(y, m + 1) : Date.UTC(y + 1, 0)
  return { dates: { from, to } }
}

export type ParsedIndex = { all: true } | { statistics: true; dates?: DateRange } | { candidates: Candidate[] }

/**
 * Returns the possible meanings of an index name, the longest application name first. There may be several, because tenant ids and
 * application names may contain dashes (document 5, 7.2). Returns undefined if the name does not belong to this tenant.
 */
export function parseIndex(index: string, tenantId: string): ParsedIndex | undefined {
  if (!index.startsWith(`${tenantId}-`)) return undefined
  const rest = index.slice(tenantId.length + 1)
  if (rest === '*') return { all: true }
  const candidates: Candidate[] = [{ applicationName: rest }]
  for (let dash = rest.lastIndexOf('-'); dash > 0; dash = rest.lastIndexOf('-', dash - 1)) {
    const dated = datesOf(rest.slice(dash + 1))
    if (dated) candidates.push({ applicationName: rest.slice(0, dash), ...dated })
    if (rest.length - dash > 12) break
  }
  for (const { applicationName, dates } of candidates)
    if (statisticsNames.includes(applicationName)) return { statistics: true, ...(dates && { dates }) }
  return { candidates }
}
