/** Builds the JSON of software versions. */
import { warningsOf } from './graph.ts'
import type { Plan } from './plan.ts'
import type { VersionRow } from './store/versions.ts'

/** Returns a function that builds the view of a version. The plan must contain the version. */
export function viewsOf(plan: Plan) {
  const warnings = warningsOf(plan)
  return (row: VersionRow) => ({
    appName: row.applicationName,
    version: row.version,
    ...(row.specification !== null && { specification: JSON.parse(row.specification) as unknown }),
    ...(row.metadata !== null && { metadata: JSON.parse(row.metadata) as unknown }),
    upgradableFrom: row.upgradableFrom.flatMap((number) => plan.byNumber.get(number)?.version ?? []),
    rolloutStrategy: row.rolloutStrategy,
    filters: row.filters.map(({ filterId, rolloutDate }) => ({
      filterId,
      ...(rolloutDate !== null && { rolloutDate }),
    })),
    skipDispatchingToEndpoint: row.skipDispatching,
    ...optional('filename', row.filename ?? row.fileName),
    ...(row.failurePercent !== null && {
      failureThreshold: { percent: row.failurePercent, minimumAttempts: row.minimumAttempts! },
    }),
    ...optional('fileSize', row.fileSize),
    ...optional('fileChecksum', row.fileChecksum),
    rolloutState: row.rolloutState,
    warnings: warnings(row.number),
    createdDate: row.createdDate,
    updatedDate: row.updatedDate,
  })
}
export type SoftwareView = ReturnType<ReturnType<typeof viewsOf>>

const optional = <K extends string, V>(name: K, value: V | null) =>
  (value === null ? {} : { [name]: value }) as { [N in K]?: V }
