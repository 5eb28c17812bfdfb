/** What can change the result of a query: a change of anything else need not ask it again. */
import type { Node, Query } from './query.ts'

/** The metadata keys that can influence the result; `any` where members are addressed without naming their keys. */
export function keysOf(query: Query): Set<string> | 'any' {
  const keys = new Set<string>()
  return collect(query.where, keys) ? keys : 'any'
}

/** Whether the application version can influence the result. */
export const dependsOnVersion = (query: Query): boolean => speaksOfVersion(query.where)

function collect(node: Node, keys: Set<string>): boolean {
  switch (node.node) {
    case 'all':
    case 'any':
      return node.of.every((part) => collect(part, keys))
    case 'not':
      return collect(node.of, keys)
    case 'test':
      keys.add(node.path[0]!)
      return true
    case 'member':
    case 'size':
      return false
    default:
      return true
  }
}

function speaksOfVersion(node: Node): boolean {
  if (node.node === 'all' || node.node === 'any') return node.of.some(speaksOfVersion)
  return node.node === 'not' ? speaksOfVersion(node.of) : node.node === 'version'
}
