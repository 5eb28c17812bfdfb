/** Tree of subscriptions by topic level. The cost of a lookup depends on the number of topic levels, not on the number of subscriptions. */
import type { Subscription } from '../../src/gateway/mqtt/host.ts'
import { plainFilter } from '../../src/gateway/mqtt/topics.ts'

interface Node {
  children: Map<string, Node>
  /** A key consists of session and topic filter, because a shared and a plain subscription can have the same topic levels. */
  here: Map<string, { key: string; subscription: Subscription }>
}

const newNode = (): Node => ({ children: new Map(), here: new Map() })
const nameOf = (key: string, filter: string) => `${key}\n${filter}`

export function createTopicTree() {
  const root = newNode()
  const ofSession = new Map<string, Map<string, Subscription>>()

  function path(filter: string): Node[] {
    const nodes = [root]
    for (const level of plainFilter(filter)!.split('/')) {
      const node = nodes.at(-1)!
      if (!node.children.has(level)) node.children.set(level, newNode())
      nodes.push(node.children.get(level)!)
    }
    return nodes
  }

  function remove(key: string, filter: string) {
    if (!ofSession.get(key)?.delete(filter)) return
    const levels = plainFilter(filter)!.split('/')
    const nodes = path(filter)
    nodes.at(-1)!.here.delete(nameOf(key, filter))
    for (let depth = levels.length; depth > 0; depth--) {
      const { here, children } = nodes[depth]!
      if (here.size === 0 && children.size === 0) nodes[depth - 1]!.children.delete(levels[depth - 1]!)
    }
  }

  return {
    has: (key: string, filter: string) => ofSession.get(key)?.has(filter) ?? false,
    add(key: string, subscription: Subscription) {
      const ownSubscriptions = ofSession.get(key) ?? new Map<string, Subscription>()
      ofSession.set(key, ownSubscriptions.set(subscription.filter, subscription))
      path(subscription.filter).at(-1)!.here.set(nameOf(key, subscription.filter), { key, subscription })
    },
    remove,
    removeAll(key: string) {
      for (const filter of ofSession.get(key)?.keys() ?? []) remove(key, filter)
      ofSession.delete(key)
    },
    find(topic: string) {
      const levels = topic.split('/')
      const found: { key: string; subscription: Subscription }[] = []
      const visit = (node: Node, depth: number) => {
        // MQTT-4.7.2-1: wildcards in the first level do not match topics that start with $.
        const wild = depth > 0 || !topic.startsWith('$')
        const rest = wild && node.children.get('#')
        if (rest) found.push(...rest.here.values())
        if (depth === levels.length) {
          found.push(...node.here.values())
          return
        }
        const exact = node.children.get(levels[depth]!)
        if (exact) visit(exact, depth + 1)
        const any = wild && node.children.get('+')
        if (any) visit(any, depth + 1)
      }
      visit(root, 0)
      return found
    },
  }
}
