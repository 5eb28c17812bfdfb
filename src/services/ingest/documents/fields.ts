/** Detects fields that earlier documents of an index did not have. */
import { parseDate } from '../query/dates.ts'

export type FieldType = 'boolean' | 'long' | 'double' | 'date' | 'text'

export interface Field {
  /** The keys of the path, joined by dots. */
  path: string
  type: FieldType
  /** True if the value is in a list, or in an object in a list. */
  listed: boolean
}

interface Node {
  children: Map<string, Node>
  /** The types that values had: one bit for each type outside of lists, and one bit for each type in a list. */
  seen: number
}

export interface KnownFields {
  /** Returns the fields of a document that were not seen before. */
  newFields(document: unknown): Field[]
  /** Adds fields that the database already contains, so that `newFields` does not return them. */
  add(fields: Field[]): void
}

export const fieldsMax = 1000
const pathLengthMax = 512
const depthMax = 20
/** Maximum number of keys of all known fields. Objects that contain fields count too. */
const nodesMax = 10_000

const bits: Record<FieldType, number> = { boolean: 1, long: 2, double: 4, date: 8, text: 16 }
const listedFactor = 32

const newNode = (): Node => ({ children: new Map(), seen: 0 })

/** Matches most dates that programs write. A text that matches need not be parsed, because every month has the days 1 to 28. */
const usualDate = /^[1-9]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{3})?Z$/
/** Only texts that begin like this are parsed as dates. */
const isoStart = /^\d{4}-\d\d-\d\d/

const isDate = (text: string) => isoStart.test(text) && (usualDate.test(text) || parseDate(text) !== undefined)

function typeOf(value: unknown): FieldType | undefined {
  switch (typeof value) {
    case 'boolean':
      return 'boolean'
    case 'bigint':
      return 'long'
    case 'number':
      return Number.isInteger(value) ? 'long' : 'double'
    case 'string':
      return isDate(value) ? 'date' : 'text'
    default:
      return isBox(value) ? (value.box === 'double' || value.box === 'float' ? 'double' : 'long') : undefined
  }
}

/** Returns whether the value is a boxed number. Scripts box numbers whose type a JavaScript number cannot represent. */
const isBox = (value: unknown): value is { box: string } =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as { box?: unknown }).box === 'string' &&
  'value' in value

/**
 * Creates the known fields of an index. If `isOfScript` is true, documents are represented as in scripts: with maps and boxed numbers.
 */
export function createKnownFields({ isOfScript = false } = {}): KnownFields {
  const root = newNode()
  let [count, nodes] = [0, 0]

  function nodeAt(path: string[]): Node {
    let node = root
    for (const key of path) {
      let child = node.children.get(key)
      if (!child) {
        child = newNode()
        node.children.set(key, child)
      }
      node = child
    }
    return node
  }

  function visitField(key: string, value: unknown, node: Node, path: string[], listed: boolean, found: Field[]) {
    let child = node.children.get(key)
    if (!child) {
      if (nodes++ >= nodesMax) return
      child = newNode()
      node.children.set(key, child)
    }
    path.push(key)
    visit(value, child, path, listed, found)
    path.pop()
  }

  function visit(value: unknown, node: Node, path: string[], listed: boolean, found: Field[]) {
    if (typeof value === 'object' && value !== null) {
      if (Array.isArray(value)) {
        for (const item of value) visit(item, node, path, true, found)
        return
      }
      if (path.length >= depthMax) return
      if (!isOfScript)
        for (const key of Object.keys(value))
          visitField(key, (value as Record<string, unknown>)[key], node, path, listed, found)
      else if (value instanceof Map)
        for (const [key, inner] of value) visitField(String(key), inner, node, path, listed, found)
      if (!isOfScript || !isBox(value)) return
    }
    const type = typeOf(value)
    if (type === undefined) return
    const bit = listed ? bits[type] * listedFactor : bits[type]
    if ((node.seen & bit) !== 0) return
    const text = path.join('.')
    if (count >= fieldsMax || text.length > pathLengthMax) return
    node.seen |= bit
    count++
    found.push({ path: text, type, listed })
  }

  return {
    newFields(document) {
      const found: Field[] = []
      visit(document, root, [], false, found)
      return found
    },
    add(fields) {
      for (const { path, type, listed } of fields) {
        nodeAt(path.split('.')).seen |= listed ? bits[type] * listedFactor : bits[type]
        count++
      }
    },
  }
}
