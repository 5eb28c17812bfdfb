import { growList } from '../collections.ts'
import { defineClass } from '../define.ts'
import { readItem } from '../dynamic.ts'
import { equal } from '../equality.ts'
import { JavaThrow } from '../errors.ts'
import { steps } from '../meter.ts'
import { type List, noSuchElement } from './helpers.ts'
import { add, copyAll, iteratorOf, listClass, removeAt } from './lists.ts'

const first = (self: List): unknown => (self.length === 0 ? null : self[0])
const last = (self: List): unknown => (self.length === 0 ? null : self[self.length - 1])
const requireElement = (self: List, value: unknown): unknown => {
  if (self.length === 0) throw noSuchElement('The collection is empty.')
  return value
}
const addFirst = (self: List, item: unknown): void => {
  growList(self)
  steps(1 + (self.length >> 5))
  self.unshift(item)
}
const takeFirst = (self: List): unknown => (self.length === 0 ? null : removeAt(self, 0))
const takeLast = (self: List): unknown => (self.length === 0 ? null : removeAt(self, self.length - 1))

defineClass('java.util.Queue', {
  supers: ['java.util.Collection'],
  methods: {
    'def element()': (self: List) => requireElement(self, first(self)),
    'boolean offer(def)': add,
    'def peek()': first,
    'def poll()': takeFirst,
    'def remove()': (self: List) => requireElement(self, self[0]) ?? null,
  },
})
defineClass('java.util.Deque', {
  supers: ['java.util.Queue'],
  methods: {
    'void addFirst(def)': addFirst,
    'void addLast(def)': (self: List, item: unknown) => void add(self, item),
    'Iterator descendingIterator()': (self: List) => iteratorOf(copyAll(self).reverse()),
    'def getFirst()': (self: List) => requireElement(self, first(self)),
    'def getLast()': (self: List) => requireElement(self, last(self)),
    'boolean offerFirst(def)': (self: List, item: unknown) => {
      addFirst(self, item)
      return true
    },
    'boolean offerLast(def)': add,
    'def peekFirst()': first,
    'def peekLast()': last,
    'def pollFirst()': takeFirst,
    'def pollLast()': takeLast,
    'def pop()': (self: List) => {
      requireElement(self, null)
      return takeFirst(self)
    },
    'void push(def)': addFirst,
    'def removeFirst()': (self: List) => {
      requireElement(self, null)
      return takeFirst(self)
    },
    'def removeLast()': (self: List) => {
      requireElement(self, null)
      return takeLast(self)
    },
    'def remove()': (self: List) => {
      requireElement(self, null)
      return takeFirst(self)
    },
  },
})
listClass('LinkedList', ['java.util.AbstractList', 'java.util.Deque'])
listClass('ArrayDeque', ['java.util.Deque'])
listClass('Vector', ['java.util.AbstractList'], {
  'void addElement(def)': (self: List, item: unknown) => void add(self, item),
  'def elementAt(int)': (self: List, index: number) => readItem(self, index),
  'def firstElement()': (self: List) => requireElement(self, first(self)),
  'def lastElement()': (self: List) => requireElement(self, last(self)),
})
listClass('Stack', ['java.util.Vector'], {
  'def push(def)': (self: List, item: unknown) => {
    add(self, item)
    return item
  },
  'def pop()': (self: List) => {
    notEmpty(self)
    return takeLast(self)
  },
  'def peek()': (self: List) => {
    notEmpty(self)
    return last(self)
  },
  'boolean empty()': (self: List) => self.length === 0,
  'int search(def)': (self: List, item: unknown) => {
    const index = self.findLastIndex((other) => equal(item, other))
    return index < 0 ? -1 : self.length - index
  },
})
const notEmpty = (self: List): void => {
  if (self.length === 0) throw new JavaThrow('java.util.EmptyStackException', null)
}
