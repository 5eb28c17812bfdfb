import type { ExpressionOf } from '../ast.ts'
import { JavaThrow } from '../errors.ts'
import { allocate } from '../meter.ts'
import { arrayOf, intType, type Type } from '../types.ts'
import type { JavaArray } from '../values.ts'
import { type Compiled, castTo, resolveType, type Scope } from './context.ts'

/** Returns the value of a variable of this type before it is assigned. */
export function defaultValue(type: Type): unknown {
  if (!type.primitive) return null
  return type.name === 'boolean' ? false : type.name === 'long' ? 0n : 0
}

/** Creates an array of one or more dimensions. */
export function newArray(element: Type, sizes: number[], level: number): JavaArray {
  const size = sizes[level]!
  if (size < 0) throw new JavaThrow('java.lang.NegativeArraySizeException', String(size))
  allocate(16 + 8 * size)
  const last = level === sizes.length - 1
  let elementType = element
  for (let depth = level + 1; depth < sizes.length; depth++) elementType = arrayOf(elementType)
  const items: unknown[] = new Array(size).fill(last ? defaultValue(element) : null)
  if (!last) for (let index = 0; index < size; index++) items[index] = newArray(element, sizes, level + 1)
  return { elementType: elementType.name, items }
}

export function compileNewArray(node: ExpressionOf<'newArray'>, scope: Scope): Compiled {
  const base = resolveType(node.element.name, node.at)
  let element = base
  for (let extra = node.sizes.length; extra < node.dimensions; extra++) element = arrayOf(element)
  let type = element
  for (let depth = 0; depth < node.sizes.length; depth++) type = arrayOf(type)
  const sizes = node.sizes.map((size) => castTo(scope.owner.script.expression(size, scope), intType).run)
  return {
    type,
    at: node.at,
    run: (frame) =>
      newArray(
        element,
        sizes.map((size) => size(frame) as number),
        0,
      ),
  }
}

export function compileArrayInit(node: ExpressionOf<'arrayInit'>, scope: Scope): Compiled {
  const element = resolveType(node.element.name, node.at)
  const items = node.items.map(
    (item) => castTo(scope.owner.script.expression(item, scope, element), element, false, true).run,
  )
  const elementType = element.name
  return {
    type: arrayOf(element),
    at: node.at,
    run: (frame): JavaArray => {
      allocate(16 + 8 * items.length)
      return { elementType, items: items.map((item) => item(frame)) }
    },
  }
}
