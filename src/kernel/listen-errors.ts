/** Error texts for a port that cannot be opened. They name the setting that the operator can change. */
const reasons: Record<string, (port: number, setting: string) => string> = {
  EADDRINUSE: (port, setting) => `Port ${port} (${setting}) is in use; choose another port`,
  EACCES: (port, setting) => `Port ${port} (${setting}) needs more rights than this user has; choose a port above 1023`,
  EADDRNOTAVAIL: () => 'This machine does not have the address in WAYPOST_HOST',
  ENOTFOUND: () => 'WAYPOST_HOST is neither an address nor a known host name',
}

/** Calls `listen`. If it fails, throws an error that names the setting to change. */
export async function explainListenError<T>(name: string, port: number, listen: () => Promise<T>): Promise<T> {
  try {
    return await listen()
  } catch (error) {
    const reason = reasons[String((error as NodeJS.ErrnoException).code)]?.(port, `WAYPOST_${name}`)
    throw reason ? new Error(reason, { cause: error }) : error
  }
}

/** Returns the host as it appears in a URL that is shown to people. */
export const hostInUrl = (host: string) => {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
