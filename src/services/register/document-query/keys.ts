/** Finds the keys on which a query depends. After a change of other keys, the query need not be evaluated again. */
import type { Node, Query } from './query.ts'

/** Returns the metadata keys that can influence the result. Returns `any` if the query tests members without naming keys. */
export function keysOf(query: Query): Set<string> | 'any' {
  const keys = new Set<string>()
  return collect(query.where, keys) ? keys : 'any'
}

/** Returns whether the application version can influence the result. */
export const dependsOnVersion = (query: Query): boolean => usesVersion(query.where)

function collect(node: Node, keys: Set<string>): boolean {
  switch (node.node) {
    case 'all':
    case 'any':
      return node.parts.every((part) => collect(part, keys))
    case 'not':
      return collect(node.part, keys)
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

function usesVersion(node: Node): boolean {
  if (node.node === 'all' || node.node === 'any') return node.parts.some(usesVersion)
  return node.node === 'not' ? usesVersion(node.part) : node.node === 'version'
}
