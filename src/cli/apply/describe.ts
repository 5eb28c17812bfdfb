/** Describes the steps of a plan for people. */
import { visible } from '../api/visible.ts'
import type { Step } from './plan.ts'

const signs = { create: '+', change: '~', delete: '-', keep: ' ' } as const
const valueLength = 120

export function* describeSteps(steps: Step[]): Generator<string> {
  for (const { action, kind, key, changes, endpoints } of steps) {
    if (action === 'keep') continue
    const concerned = endpoints === undefined ? '' : `  (${endpoints} endpoint${endpoints === 1 ? '' : 's'})`
    yield `${signs[action]} ${kind.name} ${visible(key)}${concerned}`
    for (const { field, from, to } of changes) {
      yield `    - ${visible(field)}: ${shown(from)}`
      yield `    + ${visible(field)}: ${shown(to)}`
    }
  }
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return '(none)'
  const text = visible(typeof value === 'string' ? value : JSON.stringify(value))
  return text.length > valueLength ? `${text.slice(0, valueLength)}…` : text
}

export function summaryOf(steps: Step[]): string {
  const count = (action: Step['action']) => steps.filter((step) => step.action === action).length
  return `${count('create')} to create, ${count('change')} to change, ${count('delete')} to delete, ${count('keep')} unchanged.`
}
