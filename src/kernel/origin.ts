/** Returns why a text is not the origin of a web page, such as `https://app.example.com`; undefined if it is one. */
export function originProblem(text: string): string | undefined {
  const origin = URL.parse(text)?.origin
  if (origin === text) return undefined
  return origin === undefined || origin === 'null'
    ? 'expected an origin such as https://app.example.com'
    : `expected an origin such as ${origin}, in lower case and without a path`
}
