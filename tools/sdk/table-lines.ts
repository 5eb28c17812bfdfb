/** Prints the table of the SDK; `sdk/src/operation.ts` reads it. */
import type { OperationShape, Paging } from './document.ts'

const bodyFlags: Record<string, string> = {
  'application/octet-stream': 'bo',
  'application/x-www-form-urlencoded': 'bf',
  'application/json-patch+json': 'bp',
}
const answerFlags: Record<string, string> = { 'application/octet-stream': 'ab', 'text/event-stream': 'ae' }

/** Returns `verb METHOD path flags…`; the verb of `endpoints.metadata.patch` is `metadata.patch`. */
export function tableLine({
  name,
  method,
  path,
  parameters,
  body,
  answers,
  paging,
  open,
  reads,
}: OperationShape): string {
  const answer = Object.values(answers).find((one) => one !== undefined)
  const flags = [
    reads && 'r',
    open && 'n',
    body && bodyFlags[body.type],
    answer && answerFlags[answer.type],
    ...parameters.filter((one) => one.in === 'header').map((one) => `h${one.name}`),
    paging && `p${pagingText(paging)}`,
  ].filter((flag) => typeof flag === 'string')
  return [name.slice(name.indexOf('.') + 1), method, path, ...flags].join(' ')
}

function pagingText(paging: Paging) {
  const {
    style,
    in: where = '',
    parameters = [''],
    first = 0,
    size = 0,
    max = '',
    items,
    total = '',
    next = '',
  } = paging
  const [position, sizeName = ''] = parameters
  const fields = [style[0], where[0] ?? '', position, sizeName, first, size, items, total, next, max]
  return fields.join(',').replace(/,+$/, '')
}
