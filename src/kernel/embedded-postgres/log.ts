const entry = /^(?:(?<process>[a-z][a-z ]*): )?(?<severity>[A-Z]+\d?): {2}/
const quiet = new Set(['DEBUG1', 'DEBUG2', 'DEBUG3', 'DEBUG4', 'DEBUG5', 'LOG', 'INFO', 'NOTICE'])

/**
 * Passes on lines of the server's log from WARNING upwards. Errors in client sessions are left out, because the client gets them;
 * errors of the server's own processes (autovacuum, checkpointer) are kept.
 */
export function logFilter(log: (line: string) => void): (line: string) => void {
  let passing = true
  return (line) => {
    const found = line.startsWith('\t') ? undefined : entry.exec(line)?.groups
    if (found?.severity) {
      passing = !quiet.has(found.severity) && !(found.severity === 'ERROR' && found.process === 'client backend')
    } else if (!line.startsWith('\t')) {
      passing = true
    }
    if (passing) log(line)
  }
}
