import type { Statement, StatementOf } from '../ast.ts'
import { castBetween, castFromDef, unchanged } from '../casts.ts'
import { iterationOf } from '../dynamic.ts'
import { CompileError, JavaThrow, nullPointer } from '../errors.ts'
import { step } from '../meter.ts'
import { defType, findType, isAssignable, type Type } from '../types.ts'
import type { JavaArray } from '../values.ts'
import { type Compiled, childScope, declare, type Frame, resolveType, type Scope } from './context.ts'

type Exec = (frame: Frame) => number

/** Compiles `for (x in source)` and `for (int x : source)`. */
export function compileEach(
  node: StatementOf<'each'>,
  outer: Scope,
  compileBody: (body: Statement[], scope: Scope) => Exec,
): Exec {
  const source = outer.owner.script.expression(node.source, outer)
  const scope = childScope(outer)
  const type = node.type ? resolveType(node.type.name, node.type.at) : defType
  const { items, convert } = iterationFor(source, type, node.at)
  const { slot } = declare(scope, node.name, type, node.at)
  const body = compileBody(node.body, scope)
  const visit = (frame: Frame, item: unknown): number => {
    step()
    frame[slot] = convert ? convert(item) : item
    return body(frame)
  }
  return (frame) => {
    const elements = items(frame)
    if (!Array.isArray(elements)) {
      for (const item of elements) {
        const end = visit(frame, item)
        if (end === 1) return 0
        if (end === 3) return end
      }
      return 0
    }
    const { length } = elements
    for (let index = 0; index < length; index++) {
      const end = visit(frame, elements[index])
      if (end === 1) return 0
      if (end === 3) return end
      if (elements.length !== length) throw new JavaThrow('java.util.ConcurrentModificationException', null)
    }
    return 0
  }
}

interface Iteration {
  items: (frame: Frame) => unknown[] | Iterable<unknown>
  convert: ((value: unknown) => unknown) | undefined
}

function iterationFor(source: Compiled, type: Type, at: number): Iteration {
  const { run } = source
  const { element } = source.type
  if (element) {
    const cast = castBetween(element, type, false, true)
    if (!cast)
      throw new CompileError(
        at,
        `Cannot cast from [${element.name}] to [${type.name}].`,
        'java.lang.ClassCastException',
      )
    const items = (frame: Frame) => {
      const array = run(frame) as JavaArray | null
      if (array === null) throw nullPointer('cannot iterate over null')
      return array.items
    }
    return { items, convert: cast === unchanged ? undefined : (cast as (value: unknown) => unknown) }
  }
  if (source.type !== defType && !isAssignable(findType('Iterable')!, source.type))
    throw new CompileError(at, `Illegal for each type [${source.type.name}].`)
  const cast = castFromDef(type, false)
  return {
    items: (frame) => iterationOf(run(frame)),
    convert: cast === unchanged ? undefined : (cast as (value: unknown) => unknown),
  }
}
