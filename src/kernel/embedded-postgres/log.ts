const entry = /^(?:(?<process>[a-z][a-z ]*): )?(?<severity>[A-Z]+\d?): {2}/
const droppedSeverities = new Set(['DEBUG1', 'DEBUG2', 'DEBUG3', 'DEBUG4', 'DEBUG5', 'LOG', 'INFO', 'NOTICE'])

/** Messages at level LOG with the reason why the server ended all connections. They contain no data of statements. */
const crash = /was terminated by signal|terminating any other active server processes|reinitializing|immediate shutdown/

/**
 * Passes on lines of the server's log from WARNING upwards, and lines about crashes. Errors in client sessions are left out, because the
 * client gets them. Errors of the server's own processes (autovacuum, checkpointer) are kept.
 */
export function logFilter(log: (line: string) => void): (line: string) => void {
  let isPassed = true
  return (line) => {
    const fields = line.startsWith('\t') ? undefined : entry.exec(line)?.groups
    if (fields?.severity) {
      isPassed = droppedSeverities.has(fields.severity)
        ? fields.process === 'postmaster' && crash.test(line)
        : !(fields.severity === 'ERROR' && fields.process === 'client backend')
    } else if (!line.startsWith('\t')) {
      isPassed = true
    }
    if (isPassed) log(line)
  }
}
