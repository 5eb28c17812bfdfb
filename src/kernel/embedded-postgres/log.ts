const entry = /^(?:(?<process>[a-z][a-z ]*): )?(?<severity>[A-Z]+\d?): {2}/
const quiet = new Set(['DEBUG1', 'DEBUG2', 'DEBUG3', 'DEBUG4', 'DEBUG5', 'LOG', 'INFO', 'NOTICE'])

/**
 * Passes on what the server says from WARNING upwards. An ERROR of a client's session is left out: the client has it, and
 * a duplicate key that it expected is not worth a line. An ERROR of the server's own processes (autovacuum, checkpointer)
 * has no other reader.
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
