/** Says on standard error why a command pauses, because a silent command looks as if it has stopped. */

/** Shorter pauses are not noticed. */
const noticeFromMs = 2000

/** Says for how long a command pauses before it sends a request again. */
export function noticePause(
  error: { status: number | undefined },
  pauseMs: number,
  write: (text: string) => unknown = (text) => process.stderr.write(text),
) {
  if (pauseMs < noticeFromMs) return
  const cause = error.status === undefined ? 'the platform is not reachable' : `the platform answered ${error.status}`
  write(`waypost: ${cause}; the command tries again in ${Math.ceil(pauseMs / 1000)} s\n`)
}
