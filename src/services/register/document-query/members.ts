/**
 * Rewrites conditions on the members `{ key, value }` of `metadata`. If a condition names the keys of the members, it becomes a condition
 * on the entries of the metadata object with these keys. Then an index can answer it, and changes of other keys cannot affect it.
 */
import { checkOf, conditionOf } from './evaluate.ts'
import { all, any, constant, isObject, type Json, type Node, not, type Test } from './query.ts'

/**
 * Maximum number of keys of a condition that is rewritten. A condition with more keys remains a test of all members, because the rewritten
 * condition is repeated for each key.
 */
const keysMax = 20

/** Returns a condition that holds if some member satisfies `where`. */
export function someMember(where: Node): Node {
  if (where.node === 'constant' && !where.holds) return where
  if (where.node === 'any') return any(...where.parts.map(someMember))
  const parts = where.node === 'all' ? where.parts : [where]
  const keyTest = parts.find((part) => keysNamedBy(part))
  const keys = keyTest && keysNamedBy(keyTest)
  if (!keys || keys.length > keysMax) return { node: 'member', where }
  return any(...keys.map((key) => entryCondition(key, all(...parts.filter((part) => part !== keyTest)))))
}

function keysNamedBy(node: Node): string[] | undefined {
  if (node.node !== 'test' || node.test.is !== 'in' || node.path.length !== 1 || node.path[0] !== 'key')
    return undefined
  return [...new Set(node.test.values.filter((value) => typeof value === 'string'))]
}

/** Returns a condition that holds if the member with this key exists and satisfies `where`. */
function entryCondition(key: string, where: Node): Node {
  const rebased = rewriteForEntry(key, where)
  const exists: Node = { node: 'test', path: [key], withElements: true, test: { is: 'exists' } }
  return conditionOf(rebased)({}, undefined) ? all(exists, rebased) : rebased
}

function rewriteForEntry(key: string, node: Node): Node {
  switch (node.node) {
    case 'all':
      return all(...node.parts.map((part) => rewriteForEntry(key, part)))
    case 'any':
      return any(...node.parts.map((part) => rewriteForEntry(key, part)))
    case 'not':
      return not(rewriteForEntry(key, node.part))
    case 'test': {
      const [field, ...below] = node.path
      if (field === 'value') return { ...node, path: [key, ...below] }
      return constant(checkOf(node.test)(below.length ? undefined : key))
    }
    default:
      return node
  }
}

/** Returns the condition for a test of `metadata` itself. Where MongoDB tests the elements of an array, the members are tested. */
export function testOfMetadata(test: Test): Node {
  switch (test.is) {
    case 'exists':
      return constant(true)
    case 'size':
      return { node: 'size', size: test.size }
    case 'type':
      return test.types.includes('array') ? constant(true) : someMember(testOfMember(test))
    default:
      return someMember(testOfMember(test))
  }
}

/** Returns the condition for a test of a whole member. A member is an object and never null, a number or a text. */
export function testOfMember(test: Test): Node {
  switch (test.is) {
    case 'exists':
      return constant(true)
    case 'type':
      return constant(test.types.includes('object'))
    case 'in':
      return any(
        ...test.values.map((value) =>
          isObject(value) && Object.keys(value).sort().join() === 'key,value'
            ? all(fieldEquals('key', value.key!), fieldEquals('value', value.value!))
            : constant(false),
        ),
      )
    default:
      return constant(false)
  }
}

const fieldEquals = (field: 'key' | 'value', value: Json): Node => ({
  node: 'test',
  path: [field],
  withElements: false,
  test: { is: 'in', values: [value] },
})
